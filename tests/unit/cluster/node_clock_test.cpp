// Bounds of another rank's clock, tested with clocks whose offset and drift are known.
#include "lib/cluster/node_clock.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "tests/support/thorough.hpp"

namespace mgpu {
namespace {

// A clock with an offset of `offset` that runs faster by `drift`.
struct Injected {
  std::int64_t offset;
  double drift;
  Nanos at(Nanos ours) const {
    return Nanos{ours.count() + offset +
                 static_cast<std::int64_t>(drift * static_cast<double>(ours.count()))};
  }
};

}  // namespace

TEST_CASE("with injected offset and drift the clock is where its bounds say") {
  const std::size_t kTrials = testing::is_thorough() ? 1000 : 100;
  std::mt19937_64 random(30);
  std::uniform_int_distribution<std::int64_t> offsets(-1'000'000'000'000, 1'000'000'000'000),
      ways(200, 400'000);
  std::uniform_real_distribution<double> drifts(-500e-6, 500e-6);
  std::size_t tight = 0;
  for (std::size_t trial = 0; trial < kTrials; ++trial) {
    const Injected other{offsets(random), drifts(random)};
    NodeClock clock;
    Nanos now{1'000'000'000};
    Nanos best = Nanos::max();
    const auto exchange = [&] {
      ClockExchange one;
      one.sent = now;
      now += Nanos{ways(random)};  // the two directions take different times
      one.there = other.at(now);
      now += Nanos{ways(random)};
      one.received = now;
      best = std::min(best, one.received - one.sent);
      clock.add(one);
    };
    const auto holds = [&](Nanos ours) {
      const auto bounds = clock.at(other.at(ours));
      REQUIRE(bounds);
      const Nanos offset = ours - other.at(ours);
      CHECK(bounds->low <= offset);
      CHECK(offset <= bounds->high);
      return *bounds;
    };
    for (int i = 0; i < 40; ++i) exchange();
    const Nanos begin = now;
    const ClockOffset first = *clock.newest();
    CHECK(first.low <= first.high);
    // A probe of a device that really ran in the middle of it, followed by more exchanges.
    const Nanos started = now + Nanos{50'000}, ended = started + Nanos{10'000};
    const ClockProbe probe{other.at(now), other.at(ended + Nanos{40'000}), 1, 2};
    now = ended + Nanos{40'000};
    for (int i = 0; i < 40; ++i) exchange();
    const ClockProbe here = clock.here(probe);
    CHECK(here.host_before <= begin);
    CHECK(here.host_after >= ended + Nanos{40'000});
    CHECK(here.host_before <= started);
    CHECK(here.host_after >= ended);
    holds(begin);
    const ClockOffset last = holds(now);
    holds(now + std::chrono::seconds(10));
    holds(begin - std::chrono::seconds(1));
    // The bounds are no wider than those of the quickest exchange plus the possible drift of the
    // clocks since the first one, in both directions.
    const Nanos drifted{static_cast<std::int64_t>(
        2 * 2 * NodeClock::kMostDrift * static_cast<double>((now - Nanos{1'000'000'000}).count()))};
    CHECK(last.high - last.low <= best + drifted);
    tight += last.half_width() < Nanos{100'000} ? 1 : 0;
  }
  CHECK(tight > kTrials * 9 / 10);  // bounds must also be narrow
}

TEST_CASE("a clock that was set anew is where the newest exchange says") {
  NodeClock clock;
  CHECK(!clock.at(Nanos{5}));
  clock.add({Nanos{1000}, Nanos{2000}, Nanos{1500}});
  clock.add({Nanos{3000}, Nanos{3400}, Nanos{9'000'000}});
  const auto now = clock.at(Nanos{9'000'000});
  REQUIRE(now);
  CHECK(now->low == Nanos{3000 - 9'000'000});
  CHECK(now->high == Nanos{3400 - 9'000'000});
}

TEST_CASE("only the newest exchanges are kept") {
  NodeClock clock;
  clock.add({Nanos{0}, Nanos{2}, Nanos{1}});  // the best of all, but too old to count
  for (std::size_t i = 0; i < NodeClock::kKept; ++i) clock.add({Nanos{0}, Nanos{1000}, Nanos{500}});
  CHECK(clock.newest()->high - clock.newest()->low == Nanos{1000});
}

}  // namespace mgpu
