// Estimates of both placements from measured stages: every device does all stages of a share of the
// batches, or each device some stages of every batch.
#pragma once

#include <span>
#include <vector>

#include "lib/plan/slice_source.hpp"
#include "suites/pipeline/problem.hpp"

namespace mgpu::pipeline {

struct Placements {
  double data = 0, stages = 0;  // total seconds
  std::vector<Items> shares;    // stages per device
};

// Estimates both placements from the times of each device, at least one. Transfers to and from the
// host are the same for both, and are not counted.
Placements placements_of(const Problem& problem, std::span<const StageTimes> times);

// Returns the bytes that each stage passes on per batch.
std::vector<Bytes> handed_over(const Problem& problem);

// Measures the stages on the devices, and sets the option `place` to the faster of `pipeline` and
// `data`. Without a group whose kernels reach each other's memory, it is `data`. Implements
// SuiteInfo::optional.resolve_with_devices.
void settle_place(SuiteParams& params, std::span<DeviceResources* const> devices, PeerGroup* group);

}  // namespace mgpu::pipeline
