// What a session measures: a suite with a size and options, and what is known of its rates.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "lib/device/capability.hpp"
#include "lib/device/device.hpp"
#include "lib/workload/workload.hpp"

namespace mgpu {

struct Problem {
  const SuiteInfo* suite = nullptr;
  SuiteParams params;
};
// To be solved by these devices.
std::unique_ptr<Workload> make_workload(const Problem& problem, std::span<const Device> devices);

// By suite with its options, and by device id.
using SuiteRates = std::map<std::pair<std::string, std::string>, SuiteRate>;

}  // namespace mgpu
