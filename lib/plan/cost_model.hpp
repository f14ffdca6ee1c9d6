// What the estimates of a device say about time. Closed forms for strategies that weigh devices; what a source of slices makes of
// them is lib/plan/simulator.hpp's matter.
#pragma once

#include "lib/plan/slice_source.hpp"

namespace mgpu {

// Items per second once slices overlap: the slowest of upload, compute and download decides (resident: compute alone), on the
// device's own link. 0 when its compute rate is not known; an unknown link counts as free.
double pipelined_rate(const PlanRequest& request, const DeviceEstimate& device);

}  // namespace mgpu
