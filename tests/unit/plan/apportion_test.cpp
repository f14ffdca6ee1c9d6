// Apportionment by worked examples.
#include "lib/plan/apportion.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "lib/base/error.hpp"

using namespace mgpu;

namespace {

using Shares = std::vector<Items>;
Shares shares(Items items, Items granularity, std::vector<double> weights) {
  return apportion(items, granularity, weights);
}

}  // namespace

TEST_CASE("10,000 items over 95 and 80 give 5,429 and 4,571") {
  CHECK(shares(10'000, 1, {95, 80}) == Shares{5429, 4571});
}

TEST_CASE("equal weights share to within one, the first ones taking what is over") {
  CHECK(shares(10, 1, {1, 1, 1}) == Shares{4, 3, 3});
  CHECK(shares(11, 1, {1, 1, 1}) == Shares{4, 4, 3});
  CHECK(shares(2, 1, {5, 5, 5}) == Shares{1, 1, 0});
  CHECK(shares(0, 4, {1, 2}) == Shares{0, 0});
}

TEST_CASE("the largest remainders get what is over") {
  // quotas 4.2, 2.9, 1.9
  CHECK(shares(9, 1, {4.2, 2.9, 1.9}) == Shares{4, 3, 2});
}

TEST_CASE("shares are whole granules, and the end of the range has the odd items") {
  CHECK(shares(64, 16, {1, 1}) == Shares{32, 32});
  CHECK(shares(80, 16, {1, 1}) == Shares{48, 32});
  CHECK(shares(70, 16, {1, 1}) == Shares{32, 38});
  // Ideal 7.5 each: 4 + 11 would deviate by 3.5, 8 + 7 deviates by 0.5.
  CHECK(shares(15, 4, {1, 1}) == Shares{8, 7});
  // The odd items belong to the last one's share: ideal 5.75 and 17.25, so 8 + 15, not 0 + 23.
  CHECK(shares(23, 8, {1, 3}) == Shares{8, 15});
}

TEST_CASE("a weight of zero gets nothing, not even the odd items") {
  CHECK(shares(70, 16, {1, 0, 1, 0}) == Shares{32, 0, 38, 0});
  CHECK(shares(5, 1, {0, 0, 1}) == Shares{0, 0, 5});
}

TEST_CASE("less than one granule goes whole to the heaviest") {
  CHECK(shares(5, 16, {1, 3, 2}) == Shares{0, 5, 0});
  CHECK(shares(5, 16, {2, 2}) == Shares{5, 0});
}

TEST_CASE("very large and very small weights and ranges neither overflow nor lose items") {
  CHECK(shares(100, 1, {1e308, 1e308}) == Shares{50, 50});
  CHECK(shares(100, 1, {1e-300, 3e-300}) == Shares{25, 75});
  const Items large = (Items{1} << 62) + 1;
  const Shares s = shares(large, 1, {1, 1, 1});
  CHECK(s[0] + s[1] + s[2] == large);
  CHECK(s[0] - s[2] <= 1);
}

TEST_CASE("weights that are negative, no number or all zero are the caller's mistake") {
  for (const std::vector<double>& weights :
       {std::vector<double>{}, {0, 0}, {1, -1}, {1, std::nan("")}, {1, INFINITY}}) {
    CHECK_THROWS_AS(shares(10, 1, weights), Error);
  }
  CHECK_THROWS_AS(shares(10, 0, {1}), Error);
}

TEST_CASE("no share is above its cap, and what a capped one leaves goes to the others by weight") {
  const auto within = [](Items items, Items granularity, std::vector<double> weights, Shares caps) {
    return apportion_within(items, granularity, weights, caps);
  };
  CHECK(within(100, 1, {1, 1, 2}, {100, 100, 100}) == Shares{25, 25, 50});
  CHECK(within(100, 1, {1, 1, 2}, {100, 100, 30}) == Shares{35, 35, 30});
  CHECK(within(100, 1, {1, 3, 2}, {100, 20, 30}) == Shares{50, 20, 30});
  CHECK(within(100, 1, {1, 0}, {40, 100}) == Shares{40, 60});  // no other device is left
  // The cap is rounded to whole granules.
  CHECK(within(75, 10, {1, 1}, {39, 75}) == Shares{30, 45});
  CHECK(within(75, 10, {1, 1}, {75, 39}) == Shares{50, 25});
  CHECK(within(0, 10, {1, 1}, {0, 0}) == Shares{0, 0});
  CHECK_THROWS_AS(within(100, 1, {1, 1}, {40, 50}), Error);
}
