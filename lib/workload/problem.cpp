#include "lib/workload/problem.hpp"

#include <algorithm>

namespace mgpu {

std::vector<DeviceMemory> memory_of(std::span<const Device> devices) {
  std::vector<DeviceMemory> memory;
  for (const Device& device : devices)
    memory.push_back({device.global_memory, device.max_allocation});
  return memory;
}

std::unique_ptr<Workload> make_workload(const Problem& problem, std::span<const Device> devices) {
  SuiteParams params = problem.params;
  params.devices = devices.size();
  params.cpus = std::all_of(devices.begin(), devices.end(),
                            [](const Device& device) { return device.is_cpu(); });
  for (const Device& device : devices)
    params.buffer_alignment = std::max(params.buffer_alignment, device.buffer_alignment);
  if (params.memory.size() != devices.size()) params.memory = memory_of(devices);
  return problem.suite->make(params);
}

}  // namespace mgpu
