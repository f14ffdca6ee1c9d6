// Problem: a suite with a size and options.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lib/device/device.hpp"
#include "lib/workload/workload.hpp"

namespace mgpu {

struct Problem {
  const SuiteInfo* suite = nullptr;
  SuiteParams params;
  // Values of the options that resolve_with_devices changed.
  std::map<std::string, std::string> settled = {};
};

std::vector<DeviceMemory> memory_of(std::span<const Device> devices);

// Makes the workload of the problem for these devices. If the problem states the memory of as many
// devices, that counts instead of what they report: some may have less.
std::unique_ptr<Workload> make_workload(const Problem& problem, std::span<const Device> devices);

// Returns the problem that the options name, if its suite has descriptors. Throws what
// SuiteInfo::check throws.
inline std::optional<SuiteInfo::Descriptors::OwnProblem> own_problem(const Problem& problem) {
  if (!problem.suite->descriptors) return std::nullopt;
  return problem.suite->descriptors->problem(problem.params);
}

}  // namespace mgpu
