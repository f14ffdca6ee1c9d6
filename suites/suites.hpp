// Every suite of the tool, in the order of suites/CMakeLists.txt: a table that CMake writes, so
// that a missing one is a link error.
#pragma once

#include <span>

#include "lib/workload/workload.hpp"

namespace mgpu {

std::span<const SuiteInfo> all_suites();

}  // namespace mgpu
