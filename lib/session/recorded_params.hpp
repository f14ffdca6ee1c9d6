// The parameters of a problem as records have them, and what they are where nothing is asked for.
// Pure.
#pragma once

#include <map>
#include <span>
#include <string>

#include "lib/report/record.hpp"
#include "lib/workload/problem.hpp"

namespace mgpu {

// Size, options, and the seed or the input files.
ParamMap recorded_params(const Problem& problem);

// By suite, for Report::defaults: the parameters of its problems where no option is given. Sizes
// are not among them, nor what a suite makes of other options; what is as the size, such as the
// other sides of a square matrix, is kSameAsSize.
std::map<std::string, ParamMap> default_params(std::span<const Problem> problems);

}  // namespace mgpu
