// The transform on the host, by radix 2 in plain arithmetic, and single elements by Horner's rule.
// Shares no code with the kernels.
#pragma once

#include <span>
#include <string>

#include "suites/ntt/problem.hpp"

namespace mgpu::ntt {

struct Finding {
  std::string message;  // empty: nothing was found to differ
  std::string method;
};

// Compares results with the input: all elements with a transform on the host, or 64 seeded ones
// with the value of the input's polynomial at a power of the root of unity.
Finding check(const Problem& problem, std::span<const std::byte> input,
              std::span<const std::byte> result, bool whole, std::uint64_t seed, unsigned threads);

}  // namespace mgpu::ntt
