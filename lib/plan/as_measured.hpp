// Corrects estimates by a measured sample. Predictions of how long another split would have taken
// then describe the devices as they were in the sample, not as short probes saw them before.
#pragma once

#include <vector>

#include "lib/plan/slice_source.hpp"

namespace mgpu {

struct MeasuredSlice {
  Slice slice;
  bool held_back = false;  // the device had nothing else in flight when it was given the slice
};

struct MeasuredDevice {
  std::vector<MeasuredSlice> slices;  // in the order they were given
  Nanos busy{};  // busy time without exchanges and waits for others; 0: not known
  // Time from the sample's begin until its last result was on the host; 0 if it had no slice.
  Nanos finish{};
};

struct MeasuredSample {
  std::vector<MeasuredDevice> devices;  // in the order of the request
  Nanos merge{}, makespan{};            // `makespan` includes the merge and all gaps
};

// Returns the estimates, corrected so that a simulation of the sample as it was split takes the
// measured times. A device's times are multiplied by measured / simulated time of its part. For
// iterative work, in which devices wait for each other, the factor is that of the whole sample,
// adjusted by how busy each device was. The link and devices without a part get the factor of the
// whole sample, the merge its own. The correction is repeated a few times, as devices share the
// link. Throws Error(usage) if the slices are not a partition of all items, or a rate is not known.
SetEstimates as_measured(const PlanRequest& request, const MeasuredSample& sample);

// Corrects the estimate of the request's only device by the time it took for the work alone. Also
// throws what begin_strategy() throws.
DeviceEstimate as_measured_alone(const PlanRequest& request, Nanos time);

}  // namespace mgpu
