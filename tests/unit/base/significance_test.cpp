// Rank tests, their correction and the bootstrap: values from SciPy 1.10.1 and statsmodels 0.13.5,
// and consequences of definitions. tests/cli/compare_test.py compares random inputs with those
// packages.
#include "lib/base/significance.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "lib/base/bootstrap.hpp"
#include "lib/base/stats.hpp"

using namespace mgpu;

namespace {

std::vector<double> sequence(std::size_t n, std::size_t factor, std::size_t modulus, double shift) {
  std::vector<double> values;
  for (std::size_t k = 1; k <= n; ++k)
    values.push_back(static_cast<double>(k * factor % modulus) + shift);
  return values;
}

}  // namespace

TEST_CASE("Mann and Whitney's test gives SciPy's p, exact or by the normal approximation") {
  struct Known {
    std::vector<double> first, second;
    TestMethod method;
    double u, p;
  };
  const Known known[] = {
      {{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}, TestMethod::mann_whitney_exact, 0, 0.007936507936507936},
      {{1.5, 2.5, 9, 4},
       {3, 7, 8, 1, 12, 6},
       TestMethod::mann_whitney_exact,
       9,
       0.6095238095238095},
      {{1, 2, 2, 3, 5}, {2, 4, 4, 6, 7}, TestMethod::mann_whitney_normal, 5, 0.13756389390990328},
      {sequence(30, 37, 101, 0), sequence(25, 53, 97, 5.5), TestMethod::mann_whitney_normal, 383,
       0.8991199567740973},
      {{1, 1, 1}, {1, 1, 1}, TestMethod::mann_whitney_normal, 4.5, 1},
      {{1, 2, 2, 3}, {1, 2, 2, 3}, TestMethod::mann_whitney_normal, 8, 1},
      {{1, 1}, {1, 2}, TestMethod::mann_whitney_normal, 1, 0.6170750774519738},
  };
  for (const Known& k : known) {
    const TestResult there = mann_whitney(k.first, k.second),
                     back = mann_whitney(k.second, k.first);
    CHECK(there.method == k.method);
    CHECK(there.statistic == k.u);
    CHECK(there.p == doctest::Approx(k.p).epsilon(1e-12));
    CHECK(back.p == doctest::Approx(k.p).epsilon(1e-12));
    CHECK(back.statistic == static_cast<double>(k.first.size() * k.second.size()) - k.u);
  }
}

TEST_CASE("Wilcoxon's test gives SciPy's p, leaves zeros out and says which distribution it used") {
  struct Known {
    std::vector<double> differences;
    TestMethod method;
    double w, p;
  };
  const Known known[] = {
      {{0.5, -1.2, 2.1, 3.3, -0.7, 4.2}, TestMethod::signed_rank_exact, 16, 0.3125},
      {{1, 2, -2, 3, 3, -4, 5}, TestMethod::signed_rank_normal, 19.5, 0.3963327614616553},
      {{0, 1, -2, 3, 4, 5, 6}, TestMethod::signed_rank_normal, 19, 0.0934924836898357},
      {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, TestMethod::signed_rank_exact, 55, 0.001953125},
      {{0, 0, 0}, TestMethod::signed_rank_normal, 0, 1},
  };
  for (const Known& k : known) {
    const TestResult result = signed_rank(k.differences);
    CHECK(result.method == k.method);
    CHECK(result.statistic == k.w);
    CHECK(result.p == doctest::Approx(k.p).epsilon(1e-12));
  }
}

TEST_CASE("Student's test of logarithms gives SciPy's t and p; one side may have one value") {
  struct Known {
    std::vector<double> first, second;
    double t, p;
  };
  for (const Known& known :
       {Known{{10, 11, 12}, {100, 120, 90}, 22.545674024443436, 2.2920483170804067e-05},
        {{1, 2, 3}, {1.5, 2.5, 2.1}, 0.25602001256246126, 0.8105627090642694},
        {sequence(30, 1, 31, 99), {160, 170, 180}, 8.608610026492094, 1.0093291399138774e-09}}) {
    const TestResult found = student_log(known.first, known.second);
    CHECK(found.method == TestMethod::student_log);
    CHECK(std::abs(found.statistic / known.t - 1) < 1e-9);
    CHECK(std::abs(found.p / known.p - 1) < 1e-9);
    CHECK(std::abs(student_log(known.second, known.first).p / known.p - 1) < 1e-9);
  }
  const std::vector<double> seven(3, 7), eight(1, 8);
  CHECK(student_log(seven, std::vector<double>(2, 7)).p == 1);
  CHECK(student_log(seven, eight).p < 1e-9);
}

TEST_CASE("tests are exact up to 20 values a side, and up to 50 pairs") {
  for (const std::size_t more : {0u, 1u}) {
    const auto first = sequence(20 + more, 1, 100, 0), second = sequence(5, 1, 100, 200),
               pairs = sequence(50 + more, 1, 100, 0);
    CHECK((mann_whitney(first, second).method == TestMethod::mann_whitney_exact) == (more == 0));
    CHECK((signed_rank(pairs).method == TestMethod::signed_rank_exact) == (more == 0));
  }
  CHECK(least_mann_whitney_p(5, 0) == 1);
  CHECK(least_signed_rank_p(0) == 1);
}

TEST_CASE("the least p of a test is that of sets that do not overlap") {
  for (std::size_t n = 1; n <= 12; ++n) {
    CHECK(least_mann_whitney_p(n, n + 1) ==
          doctest::Approx(mann_whitney(sequence(n, 1, 100, 0), sequence(n + 1, 1, 100, 50)).p));
    CHECK(least_signed_rank_p(n) == doctest::Approx(signed_rank(sequence(n, 1, 100, 0)).p));
  }
}

TEST_CASE("Holm's correction keeps the order of the p values and never falls below them") {
  CHECK(holm(std::vector<double>{}).empty());
  const std::vector<double> p{0.01, 0.04, 0.03, 0.005, 0.9}, expected{0.04, 0.09, 0.09, 0.025, 0.9};
  const std::vector<double> adjusted = holm(p);
  for (std::size_t k = 0; k < p.size(); ++k)
    CHECK(adjusted[k] == doctest::Approx(expected[k]).epsilon(1e-12));
  CHECK(holm(std::vector<double>{0.9, 0.52}) == std::vector<double>{1, 1});  // still a probability
}

TEST_CASE("quantiles interpolate between order statistics as NumPy does") {
  const std::vector<double> values{3, 1, 4, 1, 5, 9, 2, 6};
  CHECK(quantile(values, 0) == 1);
  CHECK(quantile(values, 0.5) == 3.5);
  CHECK(quantile(values, 0.975) == doctest::Approx(8.475));
  CHECK(quantile(values, 1) == 9);
  CHECK(quantile({7}, 0.3) == 7);
}

TEST_CASE("the interval of a ratio is made from the resamples that are told") {
  const std::vector<double> base{10, 11, 12, 13, 14, 10.5, 11.5}, fresh{20, 23, 21, 22, 26};
  const BootstrapOptions options{500, 42, 0.95};
  std::vector<double> ratios;
  for (const Resample& one : ratio_resamples(base.size(), fresh.size(), options)) {
    std::vector<double> b, f;
    for (const auto k : one.base) b.push_back(base.at(k));
    for (const auto k : one.fresh) f.push_back(fresh.at(k));
    ratios.push_back(median(f) / median(b));
  }
  const RatioInterval interval = ratio_of_medians(base, fresh, options);
  CHECK(interval.ratio == doctest::Approx(22 / 11.5));
  CHECK(interval.low == doctest::Approx(quantile(ratios, 0.025)).epsilon(1e-12));
  CHECK(interval.high == doctest::Approx(quantile(ratios, 0.975)).epsilon(1e-12));
  CHECK(interval.low < interval.high);
  CHECK(ratio_of_medians(base, fresh, {500, 43, 0.95}).low != interval.low);
}

TEST_CASE("what drifts alike on both sides of pairs leaves the median of their ratios alone") {
  std::vector<double> base, fresh;
  for (int k = 0; k < 12; ++k) {
    base.push_back(100 * std::exp(0.2 * k));  // eleven times as much at the end
    fresh.push_back(base.back() * (1.05 + 0.001 * (k % 3)));
  }
  const RatioInterval pairs = median_of_ratios(base, fresh, {});
  CHECK(pairs.low >= 1.05);
  CHECK(pairs.high <= 1.052001);
  const RatioInterval apart = ratio_of_medians(base, fresh, {});
  CHECK(apart.high / apart.low > 2);
}
