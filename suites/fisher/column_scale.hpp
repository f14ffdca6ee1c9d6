// Scaling of score vectors whose sums of products would overflow or underflow fp32 or fp64. Their
// columns are scaled near 1 by powers of two, which is exact.
#pragma once

#include <string>
#include <vector>

#include "suites/fisher/host_data.hpp"

namespace mgpu::fisher {

struct ColumnScale {
  // Exponents by column, or empty if nothing was scaled. Column k of the input was divided by
  // 2^exponents[k], and the parameters of a model multiplied by it. Element (i, j) of F is the
  // computed one times 2^(exponents[i % width] + exponents[j % width]).
  std::vector<int> exponents;
  std::string refused;  // message that says why the precision cannot hold the matrix

  // Returns e such that element (i, j) is to be multiplied by 2^e.
  int of(std::uint64_t i, std::uint64_t j) const {
    return exponents[i % exponents.size()] + exponents[j % exponents.size()];
  }
};

// Scales an input from a file, in `data`. Columns whose largest number is between 2^-40 and 2^40
// (fp64: 2^-400 and 2^400) stay as they are, and so do the bits of their results. Refuses columns
// whose nonzero numbers are so far apart that the smallest would lose digits, and matrices with an
// element beyond float64.
ColumnScale scale_columns(const Problem& problem, HostData& data, unsigned threads);

}  // namespace mgpu::fisher
