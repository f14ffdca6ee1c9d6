// Published sequences of the self-scheduling rules. balancing_test.cpp tests those of guided and
// trapezoid through the strategies.
#include "lib/plan/self_scheduling.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

using namespace mgpu;

namespace {

using Sizes = std::vector<Items>;

// Returns the chunks if devices with these shares of the total speed ask in turn, each for at least
// its minimum.
Sizes sequence(ChunkRule rule, double k, Items items, std::vector<double> shares,
               std::vector<Items> least = {}) {
  least.resize(shares.size(), 1);
  ChunkSizes sizes(rule, k, items, shares.size());
  Sizes all;
  for (std::size_t turn = 0; items > 0; turn = (turn + 1) % shares.size()) {
    all.push_back(sizes.next(items, shares[turn], least[turn]));
    items -= all.back();
    sizes.taken(items);
  }
  return all;
}

const std::vector<double> kFour(4, 0.25);

Sizes batches(std::vector<Items> each) {
  Sizes all;
  for (const Items size : each) all.insert(all.end(), 4, size);
  return all;
}

}  // namespace

TEST_CASE("HGuided gives the packages of EngineCL for 65,536 items over 0.5, 0.3 and 0.2") {
  // Uses granules of 64, with minimum packages of 4, 2 and 1.
  Sizes all = sequence(ChunkRule::hguided, 2, 65536 / 64, {0.5, 0.3, 0.2}, {4, 2, 1});
  for (Items& size : all) size *= 64;
  CHECK(all.size() == 28);
  CHECK(std::accumulate(all.begin(), all.end(), Items{0}) == 65536);
  all.resize(12);
  CHECK(all == Sizes{16384, 7424, 4224, 9408, 4224, 2432, 5376, 2432, 1408, 3072, 1408, 832});
}

TEST_CASE("weighted factoring follows the speed of devices, and is factoring on alike ones") {
  for (const ChunkRule rule : {ChunkRule::factoring, ChunkRule::weighted_factoring})
    CHECK(sequence(rule, 2, 1000, kFour) == batches({125, 63, 31, 16, 8, 4, 2, 1}));
  const Sizes uneven = sequence(ChunkRule::weighted_factoring, 2, 1000, {0.4, 0.3, 0.2, 0.1});
  CHECK(Sizes(uneven.begin(), uneven.begin() + 4) == Sizes{200, 150, 100, 50});
}

TEST_CASE("rules begin anew with what is left when work comes back or devices leave") {
  ChunkSizes trapezoid(ChunkRule::trapezoid, 2, 1000, 4);
  for (Items left = 1000, size = 0; left > 100; left -= size) {
    size = trapezoid.next(left, 0.25, 1);
    trapezoid.taken(left - size);
  }
  trapezoid.restart(800, 2);
  CHECK(trapezoid.next(800, 0.5, 1) == 200);
  ChunkSizes factoring(ChunkRule::factoring, 2, 1000, 4);
  factoring.restart(800, 2);
  CHECK(factoring.next(800, 0.5, 1) == 200);
}

TEST_CASE("no chunk is below the minimum, above what is left, or nothing") {
  for (const ChunkRule rule : {ChunkRule::hguided, ChunkRule::factoring,
                               ChunkRule::weighted_factoring, ChunkRule::trapezoid}) {
    const ChunkSizes sizes(rule, 4, 10, 8);
    CHECK(sizes.next(10, 0.001, 1) >= 1);
    CHECK(sizes.next(10, 0.001, 7) == 7);
    CHECK(sizes.next(10, 0.5, 70) == 10);
    CHECK(sizes.next(3, 1, 1) <= 3);
  }
}
