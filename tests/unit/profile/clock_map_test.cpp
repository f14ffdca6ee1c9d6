// Fitting of clocks, with synthetic device clocks whose offset and drift are known.
#include "lib/profile/clock_map.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

using namespace mgpu;

namespace {

// A device clock: device = device_origin + (host - host_origin) / (1 + drift).
struct SyntheticClock {
  std::int64_t host_origin = 0;
  std::uint64_t device_origin = 0;
  double drift = 0;  // drift of the host relative to the device
  std::uint64_t at(std::int64_t host) const {
    return device_origin + static_cast<std::uint64_t>(
                               std::llround(static_cast<double>(host - host_origin) / (1 + drift)));
  }
};

ClockProbe probe(const SyntheticClock& clock, std::int64_t host, std::int64_t lead,
                 std::int64_t run, std::int64_t tail) {
  return {Nanos{host}, Nanos{host + lead + run + tail}, clock.at(host + lead),
          clock.at(host + lead + run)};
}

std::vector<ClockProbe> probes(const SyntheticClock& clock, std::int64_t host, int count,
                               std::mt19937& random) {
  std::uniform_int_distribution<std::int64_t> lead(2000, 40000), run(500, 3000);
  std::vector<ClockProbe> all;
  for (int k = 0; k < count; ++k) {
    all.push_back(probe(clock, host, lead(random), run(random), lead(random)));
    host = all.back().host_after.count() + 1000;
  }
  return all;
}

}  // namespace

TEST_CASE("offset and drift of a synthetic clock are recovered within the stated uncertainty") {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> drift(-50e-6, 50e-6);
  std::uniform_int_distribution<std::int64_t> host(1'000'000, 4'000'000'000'000),
      length(20'000'000, 60'000'000'000);
  std::uniform_int_distribution<std::uint64_t> device(0, 2'000'000'000'000'000'000ull);
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    const std::int64_t begin = host(random), apart = length(random);
    const SyntheticClock clock{begin, device(random), drift(random)};
    const auto before = probes(clock, begin, 40, random),
               after = probes(clock, begin + apart, 40, random);
    const ClockMap map = fit_clock(before, after);
    CHECK(map.method == "bounds");
    CHECK(map.uncertainty < Nanos{40000});
    CHECK(map.uncertainty > Nanos{0});
    for (int k = 0; k <= 10; ++k) {
      const std::int64_t truth = before.front().host_before.count() + (apart + 500'000) * k / 10;
      const std::int64_t error = map.to_host(clock.at(truth)).count() - truth;
      CHECK(std::abs(error) <= map.uncertainty.count());
    }
    CHECK(std::abs(map.drift_ppb - clock.drift * 1e9) <=
          2e9 * static_cast<double>(map.uncertainty.count()) /
                  static_cast<double>(apart - 4'000'000) +
              1);
  }
}

TEST_CASE("one group of probes gives an offset and no drift") {
  const SyntheticClock clock{1'000'000, 5'000'000'000, 0};
  const ClockProbe one = probe(clock, 2'000'000, 3000, 1000, 5000);
  const ClockMap map = fit_clock({&one, 1}, {});
  CHECK(map.drift_ppb == 0);
  // Bounds are 3 us below and 5 us above the truth: the middle is off by 1 us, the half-width is 4
  // us and 1 ns of rounding.
  CHECK(map.uncertainty == Nanos{4001});
  CHECK(map.offset_ns() == 1'000'000 - 5'000'000'000 + 1000);
  CHECK(map.to_host(clock.at(2'500'000)) == Nanos{2'501'000});
}

TEST_CASE("the tightest bounds of a group count, whichever probes they come from") {
  const SyntheticClock clock{0, 1'000'000'000, 0};
  const std::vector<ClockProbe> before = {probe(clock, 1'000'000, 100, 1000, 50'000),
                                          probe(clock, 2'000'000, 70'000, 1000, 300)};
  const ClockMap map = fit_clock(before, {});
  CHECK(map.uncertainty == Nanos{201});
  CHECK(std::abs(map.offset_ns() + 1'000'000'000) <= 200);
}

TEST_CASE("without probes there is no map") {
  const ClockProbe one{Nanos{1}, Nanos{2}, 1, 2};
  CHECK(fit_clock({}, {}).method == "none");
  CHECK(fit_clock({}, {&one, 1}).method == "none");
}

TEST_CASE("probes that contradict each other widen the uncertainty to cover both") {
  const SyntheticClock clock{0, 1'000'000'000, 0};
  SyntheticClock jumped = clock;
  jumped.device_origin += 5'000'000;  // the device's clock jumps 5 ms ahead
  const std::vector<ClockProbe> before = {probe(clock, 1'000'000, 2000, 1000, 2000),
                                          probe(jumped, 2'000'000, 2000, 1000, 2000)};
  const ClockMap map = fit_clock(before, {});
  CHECK(map.uncertainty >= Nanos{2'500'000});
  CHECK(map.uncertainty < Nanos{2'600'000});
  for (const SyntheticClock& c : {clock, jumped}) {
    const std::int64_t error = map.to_host(c.at(1'500'000)).count() - 1'500'000;
    CHECK(std::abs(error) <= map.uncertainty.count());
  }
}

TEST_CASE("a clock set anew between the groups gives no drift but covers both") {
  const SyntheticClock clock{0, 1'000'000'000, 0};
  SyntheticClock jumped = clock;
  jumped.device_origin += 50'000'000;
  const ClockProbe before = probe(clock, 1'000'000, 2000, 1000, 2000);
  const ClockProbe after =
      probe(jumped, 1'001'000'000, 2000, 1000, 2000);  // 50 ms within one second
  const ClockMap map = fit_clock({&before, 1}, {&after, 1});
  CHECK(map.drift_ppb == 0);
  CHECK(std::abs(map.to_host(clock.at(1'000'000)).count() - 1'000'000) <= map.uncertainty.count());
  CHECK(std::abs(map.to_host(jumped.at(1'001'000'000)).count() - 1'001'000'000) <=
        map.uncertainty.count());
  CHECK(map.uncertainty < Nanos{26'000'000});
}

TEST_CASE("a device clock that runs backwards does not break the fit") {
  const ClockProbe before{Nanos{1000}, Nanos{9000}, 1'000'000, 1'002'000},
      after{Nanos{100'000}, Nanos{108'000}, 500'000, 502'000};
  const ClockMap map = fit_clock({&before, 1}, {&after, 1});
  CHECK(map.drift_ppb == 0);
  CHECK(map.uncertainty >= Nanos{290'000});
}

TEST_CASE("a map carries stamps on both sides of its reference, up to the 64-bit limit") {
  ClockMap map;
  map.reference_device = 18'000'000'000'000'000'000ull;
  map.reference_host = Nanos{5'000'000'000};
  map.drift_ppb = 1000;
  CHECK(map.to_host(map.reference_device) == Nanos{5'000'000'000});
  CHECK(map.to_host(map.reference_device + 1'000'000'000) == Nanos{6'000'001'000});
  CHECK(map.to_host(map.reference_device - 1'000'000'000) == Nanos{3'999'999'000});
}

TEST_CASE("probes of a broken clock give a map that says how little it knows") {
  constexpr std::uint64_t far = std::uint64_t{1} << 62;
  const auto probe_at = [](std::uint64_t started, std::uint64_t ended, std::int64_t host) {
    return ClockProbe{Nanos{host}, Nanos{host + 50'000}, started, ended};
  };
  const std::vector<std::vector<ClockProbe>> stuck = {
      {probe_at(0, 0, 1'000'000), probe_at(0, 0, 2'000'000)},
      {probe_at(1000, far, 1'000'000), probe_at(far, 1000, 2'000'000)},
      {probe_at(5, 2 * far + 5, 1'000'000), probe_at(2 * far - 1, 3 * far, 2'000'000)},
      {probe_at(3 * far + 9, 9, 1'000'000)},
  };
  for (const std::vector<ClockProbe>& before : stuck) {
    for (const std::vector<ClockProbe>& after : stuck) {
      const ClockMap map = fit_clock(before, after);
      CHECK(map.uncertainty > Nanos{400'000});
      for (const std::uint64_t stamp :
           {std::uint64_t{0}, std::uint64_t{1000}, far, 2 * far, 3 * far, ~std::uint64_t{0}})
        map.to_host(stamp);
    }
  }
}
