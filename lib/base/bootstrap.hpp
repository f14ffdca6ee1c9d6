// Estimates how much larger one median is than another, and how well that is known: a seeded
// percentile bootstrap of the ratio, which gives the same numbers on every machine. Pure.
// lib/base/significance.hpp tests whether the difference is chance.
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

// One resample: the indices of the values that are drawn. `base` is empty for pairs.
struct Resample {
  std::vector<std::uint32_t> base, fresh;
};

// Return the resamples that the intervals below are made from, so that anyone can reproduce them.
// For pairs, `fresh` holds the indices of the pairs.
std::vector<Resample> ratio_resamples(std::size_t base, std::size_t fresh,
                                      const BootstrapOptions& options);
std::vector<Resample> pair_resamples(std::size_t pairs, const BootstrapOptions& options);

// Returns median(fresh) / median(base); each side is drawn independently. Values must be positive,
// and neither side may be empty.
RatioInterval ratio_of_medians(std::span<const double> base, std::span<const double> fresh,
                               const BootstrapOptions& options);

// Returns the median of fresh[k] / base[k], for interleaved values: drift is common to both of a
// pair and cancels. Pairs are drawn whole.
RatioInterval median_of_ratios(std::span<const double> base, std::span<const double> fresh,
                               const BootstrapOptions& options);

// Returns the value below which a share q of `values` lies, with linear interpolation between order
// statistics (Hyndman and Fan's type 7).
double quantile(std::vector<double> values, double q);

}  // namespace mgpu
