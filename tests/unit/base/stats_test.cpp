// Order statistics compared with values computed by hand and with the exact binomial distribution.
#include "lib/base/stats.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/pairs.hpp"

using namespace mgpu;

namespace {

std::vector<Nanos> times(std::initializer_list<int> values) {
  std::vector<Nanos> out;
  for (const int v : values) out.push_back(Nanos{v});
  return out;
}

// Returns P(B <= k) of binomial(n, 1/2), n <= 60, by whole numbers: Pascal's triangle fits 64 bits.
double binomial_up_to(unsigned n, unsigned k) {
  std::vector<std::uint64_t> row{1};
  for (unsigned i = 0; i < n; ++i) {
    row.push_back(1);
    for (std::size_t j = row.size() - 2; j > 0; --j) row[j] += row[j - 1];
  }
  std::uint64_t sum = 0;
  for (unsigned j = 0; j <= k; ++j) sum += row[j];
  return std::ldexp(static_cast<double>(sum), -static_cast<int>(n));
}

}  // namespace

TEST_CASE("the median is the middle value, or the mean of the two middle ones") {
  CHECK(median({}) == 0);
  CHECK(median({7}) == 7);
  CHECK(median({9, 1}) == 5);
  CHECK(median({3, 9, 1}) == 3);
  CHECK(median({4, 1, 3, 2}) == 2.5);
  CHECK(median({5, 5, 5, 1}) == 5);
}

TEST_CASE("a summary has the values worked out by hand") {
  // 2 4 4 4 5 5 7 9: mean 5, squares 32, distances to 4.5: .5 .5 .5 .5 .5 2.5 2.5 4.5
  const Summary s = summarise(times({9, 2, 4, 4, 7, 4, 5, 5}));
  CHECK(s.n == 8);
  CHECK(s.min == Nanos{2});
  CHECK(s.mean == Nanos{5});
  CHECK(s.median == Nanos{5});  // 4.5, rounded
  CHECK(s.stdev == Nanos{2});   // sqrt(32 / 7) = 2.14
  CHECK(s.mad == Nanos{1});     // 0.5, rounded
  CHECK(s.ci95_low == Nanos{2});
  CHECK(s.ci95_high == Nanos{9});

  const Summary t = summarise(times({1000, 3000, 2000}));
  CHECK(t.mean == Nanos{2000});
  CHECK(t.median == Nanos{2000});
  CHECK(t.stdev == Nanos{1000});
  CHECK(t.mad == Nanos{1000});
  CHECK(summarise(times({0, 2, 4})).stdev == Nanos{2});
  CHECK(summarise(times({0, 1, 2})).stdev == Nanos{1});
  CHECK(summarise(times({7, 7, 7})).stdev == Nanos{0});
}

TEST_CASE("a summary of nothing is zero, and one sample has no spread") {
  const Summary none = summarise({});
  CHECK(none.n == 0);
  CHECK(none.median == Nanos{0});
  CHECK(none.ci95_high == Nanos{0});
  const Summary one = summarise(times({42}));
  CHECK(one.min == Nanos{42});
  CHECK(one.mean == Nanos{42});
  CHECK(one.stdev == Nanos{0});
  CHECK(one.mad == Nanos{0});
  CHECK(one.ci95_low == Nanos{42});
  CHECK(one.ci95_high == Nanos{42});
}

TEST_CASE("a summary of times far from zero loses no nanosecond") {
  const std::int64_t base = 4'000'000'000'000'000'000;  // doubles are 512 ns apart here
  const std::vector<Nanos> samples{Nanos{base + 1}, Nanos{base + 3}, Nanos{base + 5}};
  const Summary s = summarise(samples);
  CHECK(s.mean == Nanos{base + 3});
  CHECK(s.median == Nanos{base + 3});
  CHECK(s.stdev == Nanos{2});
}

TEST_CASE("the ranks of the median interval are the narrowest symmetric ones that reach 95 %") {
  for (unsigned n = 6; n <= 60; ++n) {
    CAPTURE(n);
    const Ranks ranks = median_ci95_ranks(n);
    CHECK(ranks.low + ranks.high == n - 1);
    CHECK(1 - 2 * binomial_up_to(n, static_cast<unsigned>(ranks.low)) >= 0.95);
    CHECK(1 - 2 * binomial_up_to(n, static_cast<unsigned>(ranks.low) + 1) < 0.95);
  }
}

TEST_CASE("the ranks agree with published tables; below six samples they are all there is") {
  for (const auto& [n, ranks] : test::pairs_of(R"(
         0 = 0 0; 1 = 0 0; 2 = 0 1; 3 = 0 2; 4 = 0 3; 5 = 0 4; 6 = 0 5; 9 = 1 7; 10 = 1 8; 20 = 5 14
         100 = 39 60)")) {
    const Ranks found = median_ci95_ranks(std::stoul(n));
    CHECK(std::to_string(found.low) + " " + std::to_string(found.high) == ranks);
  }
}

TEST_CASE("ranks of many samples follow the normal approximation") {
  for (const std::size_t n : {std::size_t{10'000}, std::size_t{1'000'001}}) {
    CAPTURE(n);
    const double expected =
        static_cast<double>(n) / 2 - 1.959964 * std::sqrt(static_cast<double>(n)) / 2 - 1;
    CHECK(std::abs(static_cast<double>(median_ci95_ranks(n).low) - expected) <= 1.5);
  }
}
