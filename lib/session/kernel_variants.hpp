// Kernel variants: where a suite has several kernels, tiles or settings for the same work, sessions
// take the one that `calibrate --tune` found fastest on a device (lib/session/tune.hpp); without a
// cached one, a suite's own first choice.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "lib/report/calibration_store.hpp"
#include "lib/workload/problem.hpp"

namespace mgpu {

// The suite with those of its options that are tuned one by one: what is cached for other axes or
// data too.
std::string tuned_work_of(const Problem& problem);

// The cached variant of this problem on the devices, by id; measures nothing.
std::map<std::string, std::string> cached_variants(const Problem& problem,
                                                   std::span<const Device> devices,
                                                   const CalibrationStore& store,
                                                   std::vector<std::string>& warnings);

// Makes the workload use these variants. One that it does not know adds to `warnings` and changes
// nothing.
void take_variants(Workload& workload, const std::map<std::string, std::string>& variants,
                   const DeviceTraits& device, std::vector<std::string>& warnings);

}  // namespace mgpu
