// What is made of probes and calibration before a case is predicted.
#include "lib/session/forecast.hpp"

#include <doctest/doctest.h>

using namespace mgpu;

TEST_CASE("a link carries what was seen, no more than calibrated, and grows with its devices as calibrated") {
  const LinkRate calibrated({100e9, 100e9, 130e9, 150e9});
  const LinkRate slower = link_of(120e9, {55e9, 55e9, 55e9, 55e9}, calibrated);
  CHECK(slower.of(4) == doctest::Approx(120e9));
  CHECK(slower.of(3) == doctest::Approx(104e9));
  CHECK(slower.of(2) == doctest::Approx(80e9));
  CHECK(link_of(220e9, {55e9, 55e9, 55e9, 55e9}, calibrated) == calibrated);
  CHECK(link_of(220e9, {55e9, 55e9, 55e9}, calibrated) == LinkRate({100e9, 100e9, 130e9}));
  CHECK(link_of(110e9, {55e9, 55e9}, calibrated) == 100e9);
}

TEST_CASE("where it is not known how a link grows, what each device gets shrinks in a straight line") {
  const LinkRate link = link_of(120e9, {50e9, 60e9, 50e9, 40e9}, {});  // 200 alone
  CHECK(link.of(4) == doctest::Approx(120e9));
  CHECK(link.of(3) == doctest::Approx(160e9 * (1 - 0.4 * 2 / 3)));
  CHECK(link.of(2) == doctest::Approx(110e9 * (1 - 0.4 / 3)));
  CHECK(link.of(1) == doctest::Approx(60e9));
  CHECK(link_of(200e9, {50e9, 60e9, 50e9, 40e9}, {}) == 200e9);  // they do not get in each other's way
  CHECK(link_of(200e9, {50e9, 60e9, 50e9, 40e9}, 150e9).of(4) == doctest::Approx(150e9));
  CHECK_FALSE(link_of(0, {0, 0, 0}, {}).limited());  // CPUs
}

TEST_CASE("what all of a set carry says nothing of one, nor of fewer where that was not measured") {
  const LinkCapability all_only{{"0:0", "0:1", "0:2"}, 7e9, 7e9}, by_count{{"0:0", "0:1", "0:2"}, LinkRate({8e9, 8e9, 9e9}), 7e9};
  CHECK(all_only.knows(3));
  CHECK_FALSE(all_only.knows(2));
  CHECK_FALSE(all_only.knows(1));
  CHECK(by_count.knows(2));
  CHECK_FALSE(by_count.knows(1));
  CHECK(LinkCapability{{"0:0"}, 7e9, 7e9}.knows(1));
}
