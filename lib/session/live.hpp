// Metrics of a sample under way.
#pragma once

#include <string>
#include <vector>

#include "lib/exec/sample_run.hpp"
#include "lib/report/live_event.hpp"

namespace mgpu {

// Returns what a sample of this workload did since `before`, which is empty at first. Suite, mode,
// strategy, devices and sample are left to the caller.
LiveEvent live_event(Workload& workload, const LiveSample& before, const LiveSample& now);

}  // namespace mgpu
