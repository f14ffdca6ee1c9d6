// How much larger is one median than another, and how well is that known? Percentile bootstrap of a
// ratio, seeded: the same numbers on every machine. Pure. Whether the difference is chance:
// lib/base/significance.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace mgpu {

struct BootstrapOptions {
  std::size_t resamples = 2000;
  std::uint64_t seed = 1;
  double level = 0.95;
};

struct RatioInterval {
  double ratio = 1, low = 1, high = 1;
};

// One resample: which values are drawn, by index. `base` is empty for pairs.
struct Resample {
  std::vector<std::uint32_t> base, fresh;
};

// The resamples the intervals below are made from, so that anyone can make them again. Of pairs,
// fresh holds the numbers of the pairs.
std::vector<Resample> ratio_resamples(std::size_t base, std::size_t fresh,
                                      const BootstrapOptions& options);
std::vector<Resample> pair_resamples(std::size_t pairs, const BootstrapOptions& options);

// median(fresh) / median(base); the two sides are drawn each by itself. Values are positive,
// neither side is empty.
RatioInterval ratio_of_medians(std::span<const double> base, std::span<const double> fresh,
                               const BootstrapOptions& options);

// The median of fresh[k] / base[k], for values taken interleaved: what drifts is common to both of
// a pair and cancels. Pairs are drawn whole.
RatioInterval median_of_ratios(std::span<const double> base, std::span<const double> fresh,
                               const BootstrapOptions& options);

// The value below which a share q of `values` lies, with linear interpolation between order
// statistics (Hyndman and Fan's type 7).
double quantile(std::vector<double> values, double q);

}  // namespace mgpu
