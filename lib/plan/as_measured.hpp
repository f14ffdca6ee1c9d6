// Estimates corrected by a sample that was measured: whoever asks afterwards what another split
// would have taken asks about the devices as they then were, not as short probes saw them before.
#pragma once

#include <vector>

#include "lib/plan/slice_source.hpp"

namespace mgpu {

struct MeasuredSlice {
  Slice slice;
  bool held_back = false;  // the device was given it when it had nothing else in flight
};

struct MeasuredDevice {
  std::vector<MeasuredSlice> slices;  // in the order it was given them
  Nanos busy{};    // without what it exchanged and waited for others; 0: not known
  Nanos finish{};  // when its last result was on the host, since the sample began; 0 where it had
                   // no slice
};

struct MeasuredSample {
  std::vector<MeasuredDevice> devices;  // of the request, in its order
  Nanos merge{}, makespan{};            // makespan: merge included, and what is between
};

// The sample is simulated as it was split. What a device takes is multiplied by how much longer its
// part took in truth; of work that goes in rounds, in which devices wait for each other, by how
// much longer all of it did, and that differs by how busy each was. The link's share and devices
// without a part by how much longer all of it did, the merge by how much longer the merge did; a
// few times over, as devices share the link. Throws Error(usage) where the slices are not every
// item once, or a rate is not known.
SetEstimates as_measured(const PlanRequest& request, const MeasuredSample& sample);

// Corrects the one device of the request by how long it took for the work alone. Throws also as
// begin_strategy().
DeviceEstimate as_measured_alone(const PlanRequest& request, Nanos time);

}  // namespace mgpu
