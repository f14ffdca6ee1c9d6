// Apportionment over random weights: sums, granules and balance.
#include "lib/plan/apportion.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "tests/support/thorough.hpp"

using namespace mgpu;

TEST_CASE("shares add up, keep to granules and stay within one granule of the ideal") {
  const std::uint64_t cases = mgpu::testing::is_thorough() ? 20'000 : 2'000;
  for (std::uint64_t seed = 1; seed <= cases; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto between = [&](std::uint64_t low, std::uint64_t high) {
      return std::uniform_int_distribution<std::uint64_t>(low, high)(random);
    };
    const Items granularity = between(1, 64);
    const Items items = seed % 4 == 0 ? between(0, std::uint64_t{1} << 50) : between(0, 5000);
    std::vector<double> weights(between(1, 12));
    for (double& w : weights)
      w = between(1, 5) == 1
              ? 0
              : std::pow(10.0, std::uniform_real_distribution<double>(-3, 3)(random));
    if (seed % 3 == 0) std::fill(weights.begin(), weights.end(), 0.1);
    weights[between(0, weights.size() - 1)] = 1;

    const std::vector<Items> shares = apportion(items, granularity, weights);
    REQUIRE(shares.size() == weights.size());
    CHECK(std::accumulate(shares.begin(), shares.end(), Items{0}) == items);
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    std::size_t last = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (shares[i] > 0) last = i;
    }
    for (std::size_t i = 0; i < shares.size(); ++i) {
      CAPTURE(i);
      const double ideal = static_cast<double>(items) * (weights[i] / sum);
      CHECK(std::abs(static_cast<double>(shares[i]) - ideal) <
            static_cast<double>(granularity) + 1e-14 * static_cast<double>(items) + 1e-9);
      if (i != last) CHECK(shares[i] % granularity == 0);
      if (weights[i] == 0) CHECK(shares[i] == 0);
    }
  }
}
