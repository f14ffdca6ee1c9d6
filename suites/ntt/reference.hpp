// The transform on the host, by radix 2 in plain arithmetic, and single elements by Horner's rule.
// Shares no code with the kernels.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "suites/ntt/problem.hpp"

namespace mgpu::ntt {

struct Finding {
  std::string message;  // empty: nothing was found to differ
  std::string method;
};

// Compares results with the input: all elements with a transform on the host if `whole` or if that
// takes less, else 64 seeded ones with the value of the input's polynomial at a power of the root
// of unity.
Finding check(const Problem& problem, std::span<const std::byte> input,
              std::span<const std::byte> result, bool whole, std::uint64_t seed, unsigned threads);

// Return the values of a column's polynomial on the domain of its extension, as a commitment has
// them: all of them, and that of one row. Without cosets, they are the column. Only for fields of
// one word.
std::vector<std::uint32_t> extended_column(const Problem& problem,
                                           std::span<const std::byte> column, unsigned threads);
std::uint64_t extended_element(const Problem& problem, std::span<const std::byte> column,
                               std::uint64_t row);

}  // namespace mgpu::ntt
