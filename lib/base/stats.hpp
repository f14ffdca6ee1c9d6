// Order statistics of a set of times: pure functions.
#pragma once

#include <span>
#include <vector>

#include "lib/base/units.hpp"

namespace mgpu {

struct Summary {
  std::size_t n = 0;
  Nanos min{}, median{}, mean{};
  Nanos stdev{};                  // sample standard deviation (n-1); 0 when n < 2
  Nanos mad{};                    // median of the absolute distances to the median
  Nanos ci95_low{}, ci95_high{};  // order-statistic 95 % interval of the median; n < 6: min, max
};

// Summarises the samples; all fields are zero if there are none.
Summary summarise(std::span<const Nanos> samples);

// Returns the median: the mean of the two middle values when n is even, 0 when empty.
double median(std::vector<double> values);

// Zero-based ranks (low, high) of the order statistics between which the median lies with at least
// 95 % probability, from the binomial distribution with p = 1/2 (as in
// golang.org/x/perf/benchmath). (0, n-1) when n < 6.
struct Ranks {
  std::size_t low = 0, high = 0;
};
Ranks median_ci95_ranks(std::size_t n);

}  // namespace mgpu
