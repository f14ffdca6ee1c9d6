// What both placements would take by what stages were measured to take: every device all stages of
// a share of the batches, or each device some of the stages of every batch.
#pragma once

#include <span>
#include <vector>

#include "lib/plan/slice_source.hpp"
#include "suites/pipeline/problem.hpp"

namespace mgpu::pipeline {

struct Placements {
  double data = 0, stages = 0;  // seconds in all
  std::vector<Items> shares;    // stages by device
};

// `times`: of each device; at least one. Transfers to and from the host are the same for both, and
// not counted.
Placements placements_of(const Problem& problem, std::span<const StageTimes> times);

// Bytes that go from each stage to the next, of a batch.
std::vector<Bytes> handed_over(const Problem& problem);

// Measures the stages on the devices, and puts `pipeline` or `data` for `place` into the options:
// by stages where that takes less. Without a group whose kernels reach each other's memory, it is
// by data. As SuiteInfo::optional.resolve_with_devices.
void settle_place(SuiteParams& params, std::span<DeviceResources* const> devices, PeerGroup* group);

}  // namespace mgpu::pipeline
