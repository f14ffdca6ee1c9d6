#include "lib/workload/problem.hpp"

#include <algorithm>

namespace mgpu {

void set_devices(SuiteParams& params, std::span<const Device> devices) {
  params.devices = devices.size();
  params.cpus = std::all_of(devices.begin(), devices.end(), [](const Device& device) { return device.is_cpu(); });
  params.memory.clear();
  for (const Device& device : devices) params.memory.push_back({device.global_memory, device.max_allocation});
}

std::unique_ptr<Workload> make_workload(const Problem& problem, std::span<const Device> devices) {
  SuiteParams params = problem.params;
  if (params.memory.size() != devices.size()) set_devices(params, devices);
  return problem.suite->make(params);
}

}  // namespace mgpu
