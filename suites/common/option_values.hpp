// Values of a suite's options, as text: read, or refused in one line.
#pragma once

#include <string>

#include "lib/base/error.hpp"
#include "lib/workload/workload.hpp"

namespace mgpu {

// "--option: why"
inline Error refused_option(const char* option, const std::string& why) {
  return Error(ErrorKind::usage, "--" + (option + (": " + why)));
}

// A count of at least one. Throws Error(usage).
std::uint32_t count_of_option(const SuiteParams& params, const char* option, std::uint64_t most);

// Nothing where the text is no number, or goes on after one.
std::optional<double> number_in(const std::string& text);

}  // namespace mgpu
