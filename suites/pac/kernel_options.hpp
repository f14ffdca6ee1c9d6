// Build options of all kernels of the suite.
#pragma once

#include <string>

#include "suites/pac/problem.hpp"

namespace mgpu::pac {

std::string kernel_options(const Problem& problem);

}  // namespace mgpu::pac
