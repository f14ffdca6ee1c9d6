// Order statistics; the header defines the figures.
#include "lib/base/stats.hpp"

#include <algorithm>
#include <cmath>

namespace mgpu {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  const double below = *std::max_element(values.begin(), middle);
  return below + (*middle - below) / 2;
}

Ranks median_ci95_ranks(std::size_t n) {
  if (n == 0) return {};
  // With B ~ binomial(n, 1/2), the median lies between the order statistics low and n-1-low with
  // probability 1 - 2 P(B <= low). Walk down from the middle, where the probability is a product
  // that neither under- nor overflows, to the largest low with P(B <= low) <= 2.5 %.
  const std::size_t half = n / 2;
  // P(B = k), first for k = half: binom(2m, m) / 4^m is the product of (2j-1) / (2j).
  double at = 1;
  for (std::size_t j = 1; j <= half; ++j)
    at *= static_cast<double>(2 * j - 1) / static_cast<double>(2 * j);
  if (n % 2 == 1) at *= static_cast<double>(n) / static_cast<double>(n + 1);
  double up_to = n % 2 == 1 ? 0.5 : 0.5 + at / 2;  // P(B <= k)
  std::size_t k = half;
  while (k > 0 && up_to > 0.025) {
    up_to -= at;
    at *= static_cast<double>(k) / static_cast<double>(n - k + 1);
    --k;
    // Below n = 6 even k = 0 misses 95 %, and this returns minimum and maximum.
  }
  return {k, n - 1 - k};
}

Summary summarise(std::span<const Nanos> samples) {
  Summary s;
  s.n = samples.size();
  if (s.n == 0) return s;

  std::vector<Nanos> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  s.min = sorted.front();
  // Distances to the minimum, so that doubles stay exact even if the times are far from zero.
  std::vector<double> above;
  above.reserve(s.n);
  double sum = 0;
  for (const Nanos t : sorted) {
    above.push_back(static_cast<double>((t - s.min).count()));
    sum += above.back();
  }
  const double mean = sum / static_cast<double>(s.n);
  const double middle = median(above);
  double squares = 0;
  for (double& x : above) {
    squares += (x - mean) * (x - mean);
    x = std::abs(x - middle);
  }
  s.mean = s.min + Nanos{std::llround(mean)};
  s.median = s.min + Nanos{std::llround(middle)};
  if (s.n >= 2) s.stdev = Nanos{std::llround(std::sqrt(squares / static_cast<double>(s.n - 1)))};
  s.mad = Nanos{std::llround(median(std::move(above)))};
  const Ranks ranks = median_ci95_ranks(s.n);
  s.ci95_low = sorted[ranks.low];
  s.ci95_high = sorted[ranks.high];
  return s;
}

}  // namespace mgpu
