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

// Devices may take what fp32 holds with fewer digits for 0: numbers of suites that compute in fp32
// are above this.
constexpr double least_float = 1.18e-38;

// Nothing where the text is not a number, or goes on after one.
std::optional<double> number_in(const std::string& text);

}  // namespace mgpu
