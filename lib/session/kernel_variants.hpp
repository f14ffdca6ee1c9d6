// Kernel variants: if a suite has several kernels, tiles or settings for the same work, sessions
// take the one that `calibrate --tune` found fastest on a device (lib/session/tune.hpp), or, if
// none is cached, the suite's default.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "lib/report/calibration_store.hpp"
#include "lib/workload/problem.hpp"

namespace mgpu {

// Returns the suite with those of its options that are tuned separately; a cached variant applies
// whatever the other options.
std::string tuned_work_of(const Problem& problem);

// Returns the cached variant of this problem per device id; measures nothing.
std::map<std::string, std::string> cached_variants(const Problem& problem,
                                                   std::span<const Device> devices,
                                                   const CalibrationStore& store,
                                                   std::vector<std::string>& warnings);

// Makes the workload use these variants. An unknown one adds to `warnings` and changes nothing.
void take_variants(Workload& workload, const std::map<std::string, std::string>& variants,
                   const DeviceTraits& device, std::vector<std::string>& warnings);

}  // namespace mgpu
