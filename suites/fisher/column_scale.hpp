// Score vectors whose sums of products would leave fp32 or fp64: their columns are brought near 1
// by powers of two, which is exact.
#pragma once

#include <string>
#include <vector>

#include "suites/fisher/host_data.hpp"

namespace mgpu::fisher {

struct ColumnScale {
  // Column k of the input was divided by 2^exponents[k], the parameters of a model multiplied with
  // it; F's element (i, j) is the one computed times 2^(exponents[i % width] + exponents[j %
  // width]). Empty: nothing was scaled.
  std::vector<int> exponents;
  std::string refused;  // for a person: why the precision cannot hold it

  // 2^e by which element (i, j) is to be multiplied.
  int of(std::uint64_t i, std::uint64_t j) const {
    return exponents[i % exponents.size()] + exponents[j % exponents.size()];
  }
};

// Of an input from a file. Columns whose largest number is between 2^-40 and 2^40 (fp64: 2^-400 and
// 2^400) stay as they are, and so do the bits of what is computed from them; others are changed in
// `data`. Refused are columns with nonzero numbers so far apart that the smallest would lose
// digits, and an F of which an element is beyond float64.
ColumnScale scale_columns(const Problem& problem, HostData& data, unsigned threads);

}  // namespace mgpu::fisher
