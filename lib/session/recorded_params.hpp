// The parameters of a problem in records, and their defaults. Pure.
#pragma once

#include <map>
#include <span>
#include <string>

#include "lib/report/record.hpp"
#include "lib/workload/problem.hpp"

namespace mgpu {

// Returns size, options, and the seed or the input files.
ParamMap recorded_params(const Problem& problem);

// Returns, by suite, the parameters of its problems if no option is given, for Report::defaults.
// Leaves out sizes, and parameters that a suite derives from other options; a parameter that
// defaults to the size, such as the other sides of a square matrix, is kSameAsSize.
std::map<std::string, ParamMap> default_params(std::span<const Problem> problems);

}  // namespace mgpu
