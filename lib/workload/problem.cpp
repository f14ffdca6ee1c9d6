#include "lib/workload/problem.hpp"

#include <algorithm>

namespace mgpu {

std::unique_ptr<Workload> make_workload(const Problem& problem, std::span<const Device> devices) {
  SuiteParams params = problem.params;
  params.devices = devices.size();
  params.cpus = std::all_of(devices.begin(), devices.end(), [](const Device& device) { return device.is_cpu(); });
  for (const Device& device : devices) params.memory.push_back({device.global_memory, device.max_allocation});
  return problem.suite->make(params);
}

}  // namespace mgpu
