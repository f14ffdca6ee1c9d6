// Reads values of a suite's options from text; a bad value is an error of one line.
#pragma once

#include <string>

#include "lib/base/error.hpp"
#include "lib/workload/workload.hpp"

namespace mgpu {

// Returns the error "--option: why".
inline Error refused_option(const char* option, const std::string& why) {
  return Error(ErrorKind::usage, "--" + (option + (": " + why)));
}

// Returns the option's count, 1 to `most`. Throws Error(usage).
std::uint32_t count_of_option(const SuiteParams& params, const char* option, std::uint64_t most);

// Smallest number that suites computing in fp32 use. Devices may treat smaller fp32 numbers
// (denormals, which have fewer digits) as 0.
constexpr double least_float = 1.18e-38;

// Returns the number, or nothing if the text is not a number or has more after one.
std::optional<double> number_in(const std::string& text);

}  // namespace mgpu
