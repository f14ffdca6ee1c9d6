// Declares the table of all suites, in the order of suites/CMakeLists.txt. CMake writes the table,
// so that a missing suite is a link error.
#pragma once

#include <span>

#include "lib/workload/workload.hpp"

namespace mgpu {

std::span<const SuiteInfo> all_suites();

}  // namespace mgpu
