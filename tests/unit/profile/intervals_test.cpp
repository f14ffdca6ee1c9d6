// Interval sets: unions, windows and intersections, compared with counting single nanoseconds.
#include "lib/profile/intervals.hpp"

#include <doctest/doctest.h>

#include <array>
#include <random>

using namespace mgpu;

namespace {

constexpr std::int64_t kRange = 200;

std::array<bool, kRange> marks(const std::vector<Interval>& raw) {
  std::array<bool, kRange> m{};
  for (const Interval& i : raw)
    for (std::int64_t t = i.begin.count(); t < i.end.count(); ++t)
      m[static_cast<std::size_t>(t)] = true;
  return m;
}

}  // namespace

TEST_CASE("intervals that touch or overlap become one; empty and reversed ones vanish") {
  const TimeSet set({{Nanos{10}, Nanos{20}},
                     {Nanos{20}, Nanos{25}},
                     {Nanos{5}, Nanos{5}},
                     {Nanos{40}, Nanos{30}},
                     {Nanos{12}, Nanos{14}}});
  REQUIRE(set.parts().size() == 1);
  CHECK(set.length() == Nanos{15});
  CHECK(TimeSet().length() == Nanos{0});
  CHECK(TimeSet().covered({Nanos{0}, Nanos{9}}) == Nanos{0});
}

TEST_CASE("length, window and intersection agree with counting on random sets") {
  std::mt19937 random(3);
  std::uniform_int_distribution<std::int64_t> point(0, kRange - 1);
  const auto some = [&] {
    std::vector<Interval> raw;
    for (int k = 0; k < 12; ++k) {
      const std::int64_t begin = point(random);
      raw.push_back({Nanos{begin}, Nanos{std::min(kRange, begin + point(random) / 8)}});
    }
    return raw;
  };
  for (int round = 0; round < 200; ++round) {
    const auto raw_a = some(), raw_b = some();
    const auto a = marks(raw_a), b = marks(raw_b);
    const TimeSet set_a(raw_a), set_b(raw_b);
    const std::int64_t from = point(random), to = point(random);
    std::int64_t length = 0, both = 0, window = 0;
    for (std::int64_t t = 0; t < kRange; ++t) {
      const auto k = static_cast<std::size_t>(t);
      length += a[k];
      both += a[k] && b[k];
      window += a[k] && t >= from && t < to;
    }
    CHECK(set_a.length().count() == length);
    CHECK(set_a.common(set_b).count() == both);
    CHECK(set_b.common(set_a).count() == both);
    CHECK(set_a.covered({Nanos{from}, Nanos{to}}).count() == window);
  }
}
