#include "lib/report/shares.hpp"

#include <doctest/doctest.h>

using namespace mgpu;

namespace {

std::vector<DeviceShare> of(const std::vector<Items>& items) {
  std::vector<DeviceShare> shares;
  for (const Items n : items) shares.push_back({"0:" + std::to_string(shares.size()), n});
  return shares;
}

}  // namespace

TEST_CASE("shares are percents by device, and the least and the most of many devices") {
  CHECK(shares_text(of({768, 256})) == "75/25");
  CHECK(shares_text(of({1024})) == "100");
  CHECK(shares_text(of({0, 8})) == "0/100");
  CHECK(shares_text(of({1, 1, 1, 1})) == "25/25/25/25");
  CHECK(shares_text(of({999, 1})) == ">99/<1");
  CHECK(shares_text(of({25, 25, 25, 26, 25, 25, 25, 24})) == "12-13");
  CHECK(shares_text(of({2, 2, 2, 2, 2})) == "20");
  CHECK(shares_text(of({5, 5, 5, 5, 0})) == "0-25");
  CHECK(shares_text(of({0, 0})) == "-");
  CHECK(shares_text({}) == "-");
}

TEST_CASE("a sentence says what to give to each device, in units of the problem") {
  CHECK(split_sentence(of({768, 256}), {"leaves", 262144}) ==
        "Give 0:0 196,608 of 262,144 leaves (75 %) and 0:1 the rest.");
  CHECK(split_sentence(of({3, 0, 1, 1}), {}) ==
        "Give 0:0 3 of 5 items (60 %), 0:2 1 (20 %) and 0:3 the rest.");
  CHECK(split_sentence(of({0, 4}), {"rows", 64}) == "Give 0:1 all 64 rows.");
  CHECK(split_sentence(of({2, 2, 2, 2, 3}), {"rows", 1100}) ==
        "Give each of 5 devices 18-27 % of 1,100 rows.");
  CHECK(split_sentence(of({0, 0}), {"rows", 1100}).empty());
}
