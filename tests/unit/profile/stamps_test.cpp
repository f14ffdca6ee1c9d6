// Time stamps that cannot be right: found, named, and of no influence on what is known all the
// same.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "lib/profile/bottleneck.hpp"
#include "lib/profile/metrics.hpp"
#include "tests/support/timelines.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

constexpr std::int64_t kUs = 1000;

// Two devices that share 10 ms of work; only the second one's kernel is asked about.
Timeline with_second(std::int64_t started, std::int64_t ended) {
  return TimelineBuilder(2, 10'000 * kUs)
      .upload(0, 0, 0, 10 * kUs, 4096)
      .compute(0, 0, 10 * kUs, 9'000 * kUs)
      .compute(1, 0, started, ended)
      .slice(0, 0, 0, 600)
      .slice(1, 0, 600, 1000)
      .span(0, HostState::in_flight, 0, 9'000 * kUs)
      .span(0, HostState::sync, 9'000 * kUs, 10'000 * kUs)
      .span(1, HostState::in_flight, 0, 10'000 * kUs)
      .get();
}

}  // namespace

TEST_CASE(
    "what a clock can show is taken: commands inside the sample, but for its uncertainty and a "
    "little more") {
  for (const auto& [started, ended] : {std::pair<std::int64_t, std::int64_t>{0, 10'000 * kUs},
                                       {-100 * kUs, 5},
                                       {9'999 * kUs, 10'100 * kUs}})
    CHECK(impossible_stamps(with_second(started, ended)) == std::vector<std::string>{"", ""});
  Timeline t = with_second(-300 * kUs, 10'300 * kUs);
  CHECK(impossible_stamps(t)[1] == "a command lies outside the sample");
  t.uncertainty = {Nanos{0}, Nanos{200 * kUs}};
  CHECK(impossible_stamps(t)[1].empty());
}

TEST_CASE(
    "a stamp of 0, one that goes backwards, one 2^62 away and a kernel that takes no time are each "
    "named") {
  struct Bad {
    std::int64_t started, ended;
    const char* why;
  };
  constexpr std::int64_t far = std::int64_t{1} << 62,
                         least = std::numeric_limits<std::int64_t>::min(),
                         most = std::numeric_limits<std::int64_t>::max();
  for (const Bad& bad :
       {Bad{20, 10, "a command ended before it began"}, Bad{20, 20, "a kernel took no time"},
        Bad{far, far + 10, "a command lies outside the sample"},
        Bad{10, far, "a command lies outside the sample"},
        Bad{-far, 10, "a command lies outside the sample"},
        Bad{most, least, "a command ended before it began"},
        Bad{least, most, "a command lies outside the sample"}}) {
    CAPTURE(bad.started);
    CAPTURE(bad.ended);
    CHECK(impossible_stamps(with_second(bad.started, bad.ended)) ==
          std::vector<std::string>{"", bad.why});
  }
  Timeline simulated = with_second(20, 20);  // on a virtual clock, which is known exactly
  simulated.uncertainty = {Nanos{1}, Nanos{1}};
  CHECK(impossible_stamps(simulated)[1].empty());
  CHECK(impossible_stamps(TimelineBuilder(1, 100).upload(0, 0, 5, 5, 64).get())[0]
            .empty());  // a coarse timer
  CHECK(impossible_stamps(TimelineBuilder(1, 100).upload(0, 0, 5, 5, 1 << 20).get())[0] ==
        "a transfer took no time");
}

TEST_CASE("a clock that is known to no better than the sample's length places no command in it") {
  Timeline t = with_second(0, 100);
  t.uncertainty = {Nanos{0}, Nanos{10'001 * kUs}};
  CHECK(impossible_stamps(t)[1].find("could not be compared") != std::string::npos);
  t.uncertainty[1] = Nanos::max();
  CHECK_FALSE(impossible_stamps(t)[1].empty());
  t.commands.pop_back();  // of a device that did nothing there is nothing to place
  CHECK(impossible_stamps(t)[1].empty());
}

TEST_CASE(
    "the parts of a device whose stamps are impossible are unknown, what the host counted is not, "
    "and the others' are as before") {
  const std::vector<DeviceParts> good = device_parts(with_second(0, 8'000 * kUs)),
                                 bad = device_parts(with_second(500, 500));
  CHECK(good[1].unknown.empty());
  CHECK(good[1].busy == Nanos{8'000 * kUs});
  CHECK(bad[1].unknown == "a kernel took no time");
  CHECK(bad[1].busy == Nanos{});
  CHECK(bad[1].launch == Nanos{});
  CHECK(bad[1].residue == Nanos{});
  CHECK(bad[1].items == 400);
  CHECK(bad[1].slices == 1);
  CHECK(bad[0].compute == good[0].compute);
  CHECK(bad[0].bytes_in == 4096);
}

TEST_CASE(
    "metrics that need the times of commands are undefined where those of one device are unknown; "
    "the others stay") {
  const Timeline t = with_second(std::int64_t{1} << 62, (std::int64_t{1} << 62) + 5);
  MetricsInput input;
  input.time = t.makespan;
  input.alone = {Nanos{16'000 * kUs}, Nanos{24'000 * kUs}};
  input.predicted = Nanos{9'000 * kUs};
  const Metrics m = compute_metrics(t, device_parts(t), input);
  for (const auto& none : {m.balance, m.imbalance_percent, m.imbalance_derose_percent,
                           m.utilisation_stdev, m.overlap, m.comm_share, m.sync_share})
    CHECK_FALSE(none);
  CHECK(m.speedup.value() == doctest::Approx(1.6));
  CHECK(m.efficiency);
  CHECK(m.share_error);
  CHECK(m.prediction_error);
  const Bottleneck b = find_bottleneck(t);
  CHECK(b.name == "unknown");
  CHECK_FALSE(b.perfect_balance);
  CHECK_FALSE(b.free_merge);
}
