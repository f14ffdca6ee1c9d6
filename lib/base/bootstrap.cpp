// Resampling. std::uniform_int_distribution differs between standard libraries, std::mt19937_64
// does not. An index is the high half of its value times n: the bias, n / 2^32, is far below what
// 2,000 resamples could show.
#include "lib/base/bootstrap.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
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

double quantile_of(std::vector<double>& values, double q) {
  const double at = q * static_cast<double>(values.size() - 1);
  const auto below = values.begin() + static_cast<std::ptrdiff_t>(std::floor(at));
  std::nth_element(values.begin(), below, values.end());
  if (below + 1 == values.end()) return *below;
  return *below + (at - std::floor(at)) * (*std::min_element(below + 1, values.end()) - *below);
}

// Takes medians of resamples of the same values: counts how often each is drawn, in the order of
// their size.
class Medians {
 public:
  explicit Medians(std::span<const double> values)
      : sorted_(values.begin(), values.end()), ranks_(values.size()), counts_(values.size()) {
    std::vector<std::uint32_t> order(values.size());
    std::iota(order.begin(), order.end(), std::uint32_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return values[a] < values[b]; });
    for (std::uint32_t rank = 0; rank < order.size(); ++rank) {
      ranks_[order[rank]] = rank;
      sorted_[rank] = values[order[rank]];
    }
  }
  double of(std::span<const std::uint32_t> drawn) {
    std::fill(counts_.begin(), counts_.end(), 0);
    for (const std::uint32_t index : drawn) ++counts_[ranks_[index]];
    const std::size_t upper = drawn.size() / 2;
    std::size_t rank = 0, seen = counts_[0];
    if (drawn.size() % 2 == 1) {
      while (seen <= upper) seen += counts_[++rank];
      return sorted_[rank];
    }
    while (seen < upper) seen += counts_[++rank];
    const double below = sorted_[rank];
    while (seen <= upper) seen += counts_[++rank];
    return below + (sorted_[rank] - below) / 2;
  }

 private:
  std::vector<double> sorted_;
  std::vector<std::uint32_t> ranks_, counts_;
};

// Returns the resamples, which depend on the numbers of values only: comparisons of many cases have
// few of these.
const std::vector<Resample>& known_resamples(std::size_t base, std::size_t fresh,
                                             const BootstrapOptions& options) {
  struct Known {
    std::size_t base = 0, fresh = 0, resamples = 0;
    std::uint64_t seed = 0;
    std::vector<Resample> drawn;
  };
  thread_local Known known;
  if (known.base != base || known.fresh != fresh || known.resamples != options.resamples ||
      known.seed != options.seed)
    known = {base, fresh, options.resamples, options.seed, ratio_resamples(base, fresh, options)};
  return known.drawn;
}

RatioInterval interval(double ratio, std::vector<double> ratios, double level) {
  if (ratios.empty()) return {ratio, ratio, ratio};
  const double tail = (1 - level) / 2;
  return {ratio, quantile_of(ratios, tail), quantile_of(ratios, 1 - tail)};
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
  Medians of_base(base), of_fresh(fresh);
  std::vector<double> ratios;
  for (const Resample& one : known_resamples(base.size(), fresh.size(), options))
    ratios.push_back(of_fresh.of(one.fresh) / of_base.of(one.base));
  return interval(median({fresh.begin(), fresh.end()}) / median({base.begin(), base.end()}),
                  std::move(ratios), options.level);
}

RatioInterval median_of_ratios(std::span<const double> base, std::span<const double> fresh,
                               const BootstrapOptions& options) {
  std::vector<double> each;
  for (std::size_t k = 0; k < base.size(); ++k) each.push_back(fresh[k] / base[k]);
  Medians of_each(each);
  std::vector<double> ratios;
  for (const Resample& one : known_resamples(0, each.size(), options))
    ratios.push_back(of_each.of(one.fresh));
  return interval(median(each), std::move(ratios), options.level);
}

double quantile(std::vector<double> values, double q) { return quantile_of(values, q); }

}  // namespace mgpu
