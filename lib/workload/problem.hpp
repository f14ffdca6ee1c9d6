// A suite with a size and options: what is to be computed.
#pragma once

#include <memory>
#include <span>

#include "lib/device/device.hpp"
#include "lib/workload/workload.hpp"

namespace mgpu {

struct Problem {
  const SuiteInfo* suite = nullptr;
  SuiteParams params;
};

// To be solved by these devices: how many they are, and the memory of each.
void set_devices(SuiteParams& params, std::span<const Device> devices);

// To be solved by these devices, or by those that were set before, some of which may have less memory than they say.
std::unique_ptr<Workload> make_workload(const Problem& problem, std::span<const Device> devices);

}  // namespace mgpu
