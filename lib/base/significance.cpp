// Rank tests. Exact distributions are counted in doubles: the largest count, C(40, 20) = 1.4e11,
// and the powers of two up to 2^50 are whole numbers there.
#include "lib/base/significance.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mgpu {

namespace {

constexpr std::size_t kExactUMost = 20, kExactPairsMost = 50;

struct Ranked {
  // Ranks from 1, in the order of the values; equal values have their mean rank.
  std::vector<double> ranks;
  double tie_term = 0;  // sum of t^3 - t over groups of t equal values
};

Ranked ranked(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  Ranked out;
  out.ranks.resize(values.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    const double t = static_cast<double>(end - begin);
    for (std::size_t k = begin; k < end; ++k)
      out.ranks[order[k]] = static_cast<double>(begin) + (t + 1) / 2;
    out.tie_term += t * t * t - t;
  }
  return out;
}

// Returns twice the share of `counts` from index `at` on: both tails of a symmetric distribution.
double two_tails(const std::vector<double>& counts, double at) {
  double all = 0, tail = 0;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    all += counts[k];
    if (static_cast<double>(k) >= at) tail += counts[k];
  }
  return std::min(1.0, 2 * tail / all);
}

// Counts the orders of n and m values in which U has each of its values 0 .. n m. Given `a` values
// of the first set and `b` of the second, the largest belongs either to the first set, above all
// `b`, or to the second: c(a, b, u) = c(a - 1, b, u - b) + c(a, b - 1, u).
std::vector<double> u_counts(std::size_t n, std::size_t m) {
  std::vector<std::vector<double>> row(
      m + 1, std::vector<double>(n * m + 1, 0.0));  // c(a, b, .) for all b
  for (auto& counts : row) counts[0] = 1;           // a = 0: one order
  for (std::size_t a = 1; a <= n; ++a) {
    for (std::size_t b = 1; b <= m; ++b) {
      for (std::size_t u = n * m; u >= b; --u) row[b][u] = row[b][u - b];
      std::fill_n(row[b].begin(), b, 0.0);
      for (std::size_t u = 0; u <= n * m; ++u) row[b][u] += row[b - 1][u];
    }
  }
  return row[m];
}

// Counts, among the 2^n choices of signs of the ranks 1 .. n, those with each sum of positive
// ranks.
std::vector<double> rank_sum_counts(std::size_t n) {
  std::vector<double> counts(n * (n + 1) / 2 + 1, 0.0);
  counts[0] = 1;
  for (std::size_t rank = 1; rank <= n; ++rank) {
    for (std::size_t sum = counts.size() - 1; sum >= rank; --sum) counts[sum] += counts[sum - rank];
  }
  return counts;
}

// Returns the two-sided p of a statistic `distance` from its mean; half a step of the statistic is
// the correction for continuity.
double normal_p(double distance, double variance) {
  if (!(variance > 0)) return 1;
  return std::min(1.0, std::erfc((std::abs(distance) - 0.5) / std::sqrt(2 * variance)));
}

// Returns the regularised incomplete beta function by its power series (DLMF 8.17.8 and 8.17.4),
// whose terms are positive: small values keep their relative precision.
double incomplete_beta(double x, double a, double b) {
  if (x > (a + 1) / (a + b + 2)) return 1 - incomplete_beta(1 - x, b, a);
  double term = 1, sum = 1;
  for (double n = 0; term > 1e-17 * sum; ++n) sum += term *= (a + b + n) / (a + 1 + n) * x;
  const double log_beta = std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b);
  return std::exp(a * std::log(x) + b * std::log1p(-x) - log_beta) / a * sum;
}

double two_tails_of_t(double t, double freedom) {
  return incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5);
}

}  // namespace

const char* to_string(TestMethod method) {
  switch (method) {
    case TestMethod::mann_whitney_exact:
      return "mann-whitney exact";
    case TestMethod::mann_whitney_normal:
      return "mann-whitney normal";
    case TestMethod::signed_rank_exact:
      return "signed-rank exact";
    case TestMethod::signed_rank_normal:
      return "signed-rank normal";
    case TestMethod::student_log:
      return "student log";
    case TestMethod::student_runs:
      return "student runs";
  }
  return "";
}

TestResult mann_whitney(std::span<const double> first, std::span<const double> second) {
  std::vector<double> all(first.begin(), first.end());
  all.insert(all.end(), second.begin(), second.end());
  const Ranked pool = ranked(all);
  const double n1 = static_cast<double>(first.size()), n2 = static_cast<double>(second.size()),
               n = n1 + n2;
  const double rank_sum = std::accumulate(
      pool.ranks.begin(), pool.ranks.begin() + static_cast<std::ptrdiff_t>(first.size()), 0.0);
  const double u = rank_sum - n1 * (n1 + 1) / 2;
  if (pool.tie_term == 0 && std::max(first.size(), second.size()) <= kExactUMost) {
    return {TestMethod::mann_whitney_exact, u,
            two_tails(u_counts(first.size(), second.size()), std::max(u, n1 * n2 - u))};
  }
  const double variance = n1 * n2 / 12 * (n + 1 - pool.tie_term / (n * (n - 1)));
  return {TestMethod::mann_whitney_normal, u, normal_p(u - n1 * n2 / 2, variance)};
}

TestResult signed_rank(std::span<const double> differences) {
  std::vector<double> sizes;
  std::vector<bool> positive;
  for (const double d : differences) {
    if (d == 0) continue;
    sizes.push_back(std::abs(d));
    positive.push_back(d > 0);
  }
  const Ranked pool = ranked(sizes);
  double w = 0;
  for (std::size_t k = 0; k < sizes.size(); ++k) w += positive[k] ? pool.ranks[k] : 0;
  const double n = static_cast<double>(sizes.size()), most = n * (n + 1) / 2;
  if (sizes.size() == differences.size() && pool.tie_term == 0 && sizes.size() <= kExactPairsMost) {
    return {TestMethod::signed_rank_exact, w,
            two_tails(rank_sum_counts(sizes.size()), std::max(w, most - w))};
  }
  const double variance = n * (n + 1) * (2 * n + 1) / 24 - pool.tie_term / 48;
  return {TestMethod::signed_rank_normal, w, normal_p(w - most / 2, variance)};
}

TestResult student_log(std::span<const double> first, std::span<const double> second) {
  double squares = 0;
  const auto mean_log = [&](std::span<const double> values) {
    double sum = 0;
    for (const double v : values) sum += std::log(v);
    const double mean = sum / static_cast<double>(values.size());
    for (const double v : values) squares += (std::log(v) - mean) * (std::log(v) - mean);
    return mean;
  };
  const double difference = mean_log(second) - mean_log(first);
  const double n1 = static_cast<double>(first.size()), n2 = static_cast<double>(second.size()),
               freedom = n1 + n2 - 2;
  TestResult result =
      student_runs(difference, std::sqrt(squares / freedom * (1 / n1 + 1 / n2)), freedom);
  result.method = TestMethod::student_log;
  return result;
}

TestResult student_runs(double difference, double spread, double freedom) {
  // Rounding errors of logarithms must not count as spread, nor as a difference.
  const double t = difference / std::max(spread, 1e-12);
  return {TestMethod::student_runs, t, two_tails_of_t(t, freedom)};
}

double student_quantile(double p, double freedom) {
  double low = 0, high = 1;
  while (two_tails_of_t(high, freedom) > p) high *= 2;
  for (int k = 0; k < 60; ++k) {
    const double middle = (low + high) / 2;
    (two_tails_of_t(middle, freedom) > p ? low : high) = middle;
  }
  return high;
}

double least_mann_whitney_p(std::size_t first, std::size_t second) {
  double orders = 1;
  for (std::size_t k = 1; k <= second; ++k)
    orders *= static_cast<double>(first + k) / static_cast<double>(k);
  return std::min(1.0, 2 / orders);
}

double least_signed_rank_p(std::size_t pairs) {
  return std::min(1.0, std::ldexp(2.0, -static_cast<int>(pairs)));
}

std::vector<double> holm(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double most = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    most = std::max(most, std::min(1.0, p[order[k]] * static_cast<double>(p.size() - k)));
    adjusted[order[k]] = most;
  }
  return adjusted;
}

}  // namespace mgpu
