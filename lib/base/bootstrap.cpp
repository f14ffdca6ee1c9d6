// Resampling. std::uniform_int_distribution differs between standard libraries, std::mt19937_64
// does not. An index is the high half of its value times n: the bias, n / 2^32, is far below what
// 2,000 resamples could show.
#include "lib/base/bootstrap.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "lib/base/stats.hpp"

namespace mgpu {

namespace {

std::vector<std::uint32_t> draw(std::size_t n, std::mt19937_64& random) {
  std::vector<std::uint32_t> indices(n);
  for (std::uint32_t& index : indices)
    index = static_cast<std::uint32_t>(((random() >> 32) * n) >> 32);
  return indices;
}

double median_of(std::span<const double> values, std::span<const std::uint32_t> drawn) {
  std::vector<double> taken;
  taken.reserve(drawn.size());
  for (const std::uint32_t index : drawn) taken.push_back(values[index]);
  return median(std::move(taken));
}

RatioInterval interval(double ratio, std::vector<double> ratios, double level) {
  if (ratios.empty()) return {ratio, ratio, ratio};
  const double tail = (1 - level) / 2;
  return {ratio, quantile(ratios, tail), quantile(ratios, 1 - tail)};
}

}  // namespace

std::vector<Resample> ratio_resamples(std::size_t base, std::size_t fresh,
                                      const BootstrapOptions& options) {
  std::mt19937_64 random(options.seed);
  std::vector<Resample> all(options.resamples);
  for (Resample& one : all) {
    one.base = draw(base, random);
    one.fresh = draw(fresh, random);
  }
  return all;
}

std::vector<Resample> pair_resamples(std::size_t pairs, const BootstrapOptions& options) {
  return ratio_resamples(0, pairs, options);
}

RatioInterval ratio_of_medians(std::span<const double> base, std::span<const double> fresh,
                               const BootstrapOptions& options) {
  std::vector<double> ratios;
  for (const Resample& one : ratio_resamples(base.size(), fresh.size(), options))
    ratios.push_back(median_of(fresh, one.fresh) / median_of(base, one.base));
  return interval(median({fresh.begin(), fresh.end()}) / median({base.begin(), base.end()}),
                  std::move(ratios), options.level);
}

RatioInterval median_of_ratios(std::span<const double> base, std::span<const double> fresh,
                               const BootstrapOptions& options) {
  std::vector<double> each;
  for (std::size_t k = 0; k < base.size(); ++k) each.push_back(fresh[k] / base[k]);
  std::vector<double> ratios;
  for (const Resample& one : pair_resamples(each.size(), options))
    ratios.push_back(median_of(each, one.fresh));
  return interval(median(each), std::move(ratios), options.level);
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(at));
  if (below + 1 >= values.size()) return values.back();
  return values[below] + (at - std::floor(at)) * (values[below + 1] - values[below]);
}

}  // namespace mgpu
