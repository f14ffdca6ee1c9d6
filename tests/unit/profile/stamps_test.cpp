// Time stamps that cannot be right: they are found and named, and do not affect other known values.
#include <doctest/doctest.h>

#include <limits>

#include "lib/profile/bottleneck.hpp"
#include "lib/profile/metrics.hpp"
#include "tests/support/timelines.hpp"

using namespace mgpu;
using test::drawn;

namespace {

constexpr std::int64_t kUs = 1000;

// Returns two devices that share 10 ms of work; only the second one's kernel has the given times.
Timeline with_second(std::int64_t started, std::int64_t ended) {
  return drawn(2, "10ms",
               R"(
    0: up 0 0..10us 4096B, run 0 10us..9ms, items 0 0..600, fly 0..9ms, sync 9ms..10ms
    1: items 0 600..1000, fly 0..10ms, run 0 )" +
                   std::to_string(started) + ".." + std::to_string(ended));
}

std::string why_second(const Timeline& t) {
  const std::vector<std::string> why = impossible_stamps(t);
  CHECK(why.at(0) == "");
  return why.at(1);
}

}  // namespace

TEST_CASE("a command is taken inside the sample, but for its clock's uncertainty and more") {
  constexpr std::int64_t far = std::int64_t{1} << 62,
                         least = std::numeric_limits<std::int64_t>::min(),
                         most = std::numeric_limits<std::int64_t>::max();
  struct Known {
    std::int64_t started, ended;
    const char* why;
    std::int64_t uncertainty = -1;  // uncertainty of the second device's clock; negative: unknown
  };
  for (const Known& known : {Known{0, 10'000 * kUs, ""},
                             {-100 * kUs, 5, ""},
                             {9'999 * kUs, 10'100 * kUs, ""},
                             {-300 * kUs, 10'300 * kUs, "outside"},
                             {-300 * kUs, 10'300 * kUs, "", 200 * kUs},
                             {20, 10, "ended before"},
                             {20, 20, "a kernel took no time"},
                             {20, 20, "", 1},  // a virtual clock, which is exact
                             {far, far + 10, "outside"},
                             {10, far, "outside"},
                             {-far, 10, "outside"},
                             {most, least, "ended before"},
                             {least, most, "outside"},
                             // An uncertainty as large as the sample locates nothing.
                             {0, 100, "could not be compared", 10'001 * kUs},
                             {0, 100, "could not be compared", most}}) {
    CAPTURE(known.started);
    CAPTURE(known.ended);
    Timeline t = with_second(known.started, known.ended);
    if (known.uncertainty >= 0)
      t.uncertainty = {Nanos{known.uncertainty == 1 ? 1 : 0}, Nanos{known.uncertainty}};
    const std::string why = why_second(t);
    CHECK(why.empty() == (std::string_view(known.why) == ""));
    CHECK(why.find(known.why) != std::string::npos);
    t.commands.pop_back();  // a device without commands has nothing to locate
    CHECK(why_second(t) == "");
  }
  // A coarse timer may miss a small transfer, but not one of a MiB.
  CHECK(impossible_stamps(drawn(1, "100", "0: up 0 5..5 64B"))[0] == "");
  CHECK(impossible_stamps(drawn(1, "100", "0: up 0 5..5 1048576B"))[0] ==
        "a transfer took no time");
}

TEST_CASE("parts of a device with impossible stamps are unknown, what the host counted is not") {
  const std::vector<DeviceParts> good = device_parts(with_second(0, 8'000 * kUs)),
                                 bad = device_parts(with_second(500, 500));
  CHECK(good[1].unknown.empty());
  CHECK(good[1].busy == Nanos{8'000 * kUs});
  CHECK(bad[1].unknown == "a kernel took no time");
  for (const Nanos none : {bad[1].busy, bad[1].launch, bad[1].residue}) CHECK(none == Nanos{});
  CHECK(bad[1].items == 400);
  CHECK(bad[1].slices == 1);
  CHECK(bad[0].compute == good[0].compute);
  CHECK(bad[0].bytes_in == 4096);
}

TEST_CASE("metrics that need the times of commands are undefined where one device's are unknown") {
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
  CHECK((m.efficiency && m.share_error && m.prediction_error));
  const Bottleneck b = find_bottleneck(t);
  CHECK(b.name == "unknown");
  CHECK_FALSE(b.perfect_balance);
  CHECK_FALSE(b.free_merge);
}
