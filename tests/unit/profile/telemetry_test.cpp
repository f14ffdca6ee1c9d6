// Readings and samples: the readings that describe each sample, and the figures of a case that are
// made of them.
#include "lib/profile/telemetry.hpp"

#include <doctest/doctest.h>

using namespace mgpu;

namespace {

TelemetryReading reading(std::int64_t at, double power, std::uint32_t throttle = 0) {
  TelemetryReading r;
  r.at = Nanos{at};
  r[Gauge::power] = power;
  r.throttle = throttle;
  return r;
}

const TelemetryTrack track{"0:0",
                           {reading(100, 10), reading(200, 20, throttle::thermal),
                            reading(300, 30, throttle::power_cap), reading(400, 40)}};

TimeWindow window(std::int64_t begin, std::int64_t end) { return {Nanos{begin}, Nanos{end}}; }

}  // namespace

TEST_CASE("a long sample has the readings inside it, a short one the nearest, a far one none") {
  const auto ats = [](const TimeWindow& sample) {
    std::vector<std::int64_t> all;
    for (const TelemetryReading& r : readings_of_sample(track, sample, Nanos{60}))
      all.push_back(r.at.count());
    return all;
  };
  CHECK(ats(window(150, 320)) == std::vector<std::int64_t>{50, 150});
  CHECK(ats(window(210, 220)) == std::vector<std::int64_t>{0});   // 200, extended to the beginning
  CHECK(ats(window(270, 290)) == std::vector<std::int64_t>{20});  // 300, held within
  CHECK(ats(window(440, 450)) == std::vector<std::int64_t>{0});
  CHECK(ats(window(50, 60)) == std::vector<std::int64_t>{10});
  CHECK(ats(window(600, 700)).empty());
  CHECK(readings_of_sample({"0:0", {}}, window(0, 100), Nanos{60}).empty());
}

TEST_CASE("figures of a case weigh samples by length") {
  const std::vector<TimeWindow> samples{window(150, 350), window(380, 400)};  // readings 20, 30; 40
  const TelemetryFigures figures = summarise_telemetry(track, samples, Nanos{60});
  CHECK(figures.readings == 3);
  REQUIRE(figures[Gauge::power]);
  CHECK(figures[Gauge::power]->min == 20);
  CHECK(figures[Gauge::power]->max == 40);
  CHECK(figures[Gauge::power]->mean == doctest::Approx((25.0 * 200 + 40 * 20) / 220));
  CHECK_FALSE(figures[Gauge::clock]);
  CHECK(figures.throttle == (throttle::thermal | throttle::power_cap));
  CHECK(figures.throttled_samples == 1);
}

TEST_CASE("without readings near there are no figures") {
  const TimeWindow far = window(10'000, 20'000), half = window(350, 450);
  const TelemetryFigures none = summarise_telemetry(track, {&far, 1}, Nanos{60});
  CHECK(none.readings == 0);
  CHECK_FALSE(none[Gauge::power]);
  const TelemetryFigures some = summarise_telemetry(track, {&half, 1}, Nanos{60});
  CHECK(some[Gauge::power]->mean == 40);
}

TEST_CASE("throttle reasons are words and back") {
  CHECK(throttle_words(throttle::power_cap | throttle::sync_boost) ==
        std::vector<std::string>{"power cap", "sync boost"});
  CHECK(throttle_bits({"thermal", "something new", "power brake"}) ==
        (throttle::thermal | throttle::power_brake));
  for (std::uint32_t bits = 0; bits < 32; ++bits)
    CHECK(throttle_bits(throttle_words(bits)) == bits);
}

TEST_CASE("throttling begins at the first reading that shows it, if the one before does not") {
  const auto begun = [](std::int64_t begin, std::int64_t end) {
    const TelemetryReading* found = throttling_begun(track, window(begin, end));
    return found != nullptr ? found->at.count() : -1;
  };
  CHECK(begun(110, 450) == 200);
  CHECK(begun(200, 210) == 200);
  CHECK(begun(110, 190) == -1);  // before it
  CHECK(begun(250, 450) == -1);  // the sample began with it
  CHECK(begun(350, 450) == -1);  // after it
  CHECK(throttling_begun(TelemetryTrack{"0:0", {reading(5, 1, throttle::thermal)}}, window(0, 9)) ==
        nullptr);  // nothing is known of the time before
}
