// The least that a Fisher problem demands of a device, as Workload::demand defines it. Pure.
#pragma once

#include "suites/fisher/problem.hpp"

namespace mgpu::fisher {

// Returns the demand of the whole problem. Models and closed forms are counted in instructions of
// GPUs, so for CPUs their demand is empty.
Demand demand_of(const Problem& problem, const DeviceTraits& device);

// Returns the work per point in the regimes `models` and `closed`. It only compares problems of one
// model or family, so that a rate measured at one dimension tells that of another.
double work_of_point(const Problem& problem);

}  // namespace mgpu::fisher
