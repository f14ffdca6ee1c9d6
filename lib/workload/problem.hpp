// A suite with a size and options: what is to be computed.
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
  std::map<std::string, std::string> settled =
      {};  // of its options, those that resolve_with_devices changed, as they are
};

std::vector<DeviceMemory> memory_of(std::span<const Device> devices);

// To be solved by these devices. Their memory is what the problem says of as many, where it says
// it: some may have less than they report.
std::unique_ptr<Workload> make_workload(const Problem& problem, std::span<const Device> devices);

// Of its suite, by what its options name. Throws what SuiteInfo::check throws.
inline std::optional<SuiteInfo::Descriptors::OwnProblem> own_problem(const Problem& problem) {
  if (!problem.suite->descriptors) return std::nullopt;
  return problem.suite->descriptors->problem(problem.params);
}

}  // namespace mgpu
