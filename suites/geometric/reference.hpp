// The independent reference: products of blades by bit arithmetic, sums in twice the precision. It
// shares no code with the generator of kernels.
#pragma once

#include <span>
#include <string>

#include "suites/geometric/problem.hpp"

namespace mgpu::geometric {

struct Finding {
  std::string method;   // what was compared
  std::string message;  // first difference; empty if there is none
};

// Checks all multivectors if that takes each thread about a fifth of a second (`whole`: a second),
// otherwise as many as fit into that time, including the first and the last: parts of neighbours
// that are evenly spread, each at a random place of its range.
Finding check(const Problem& problem, std::span<const std::byte> a, std::span<const std::byte> b,
              std::span<const std::byte> c, bool whole, std::uint64_t seed, unsigned threads);

}  // namespace mgpu::geometric
