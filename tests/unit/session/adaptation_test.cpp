// The record of work that moves away from a device whose clocks telemetry sees held down.
#include <doctest/doctest.h>

#include "lib/session/recorder.hpp"
#include "tests/support/sum_session.hpp"

using namespace mgpu;
using namespace mgpu::test;
using namespace std::chrono_literals;

namespace {

// A case of two devices with one sample, from 1 s to 2 s on the host's clock.
struct OneSample {
  OneSample() {
    group.cases = cases_of(options, 2);
    group.prepared.resize(2);
    Case& the_case = group.cases.back();
    RawSample& sample = the_case.samples.emplace_back();
    sample.begin = 1s;
    sample.end = sample.merge_begin = sample.merge_end = 2s;
    for (std::uint32_t i = 0; i < 2; ++i) {
      devices[i].facts = fake_device("0:" + std::to_string(i)).facts;
      group.prepared[i].clock.method = "bounds";
      sample.slices.push_back({{{i}, 0, 500 * i, 500 + 500 * i, {}, Nanos{1s}}, false});
    }
    sample.first_shares = {500, 500};
    sample.migration.emplace();
    sample.handovers = {{{0}, 100ms, 8}, {{1}, 450ms, 8}, {{0}, 600ms, 8}, {{0}, 700ms, 8}};
    the_case.times = {1s};
    the_case.decisions = {Nanos{}};
  }

  RunRecord record(std::vector<TelemetryTrack> tracks) {
    const RecordedGroup of{
        options, options.problems.front(), Mode::resident, shape, shape.cost, devices, {}, false};
    return record_group(group, of, Nanos{}, tracks).front();
  }

  static Shape problem_shape() {
    Shape shape;
    shape.items = 1000;
    return shape;
  }

  SessionOptions options = options_for(2, 1000, "adaptive", {Mode::resident});
  Shape shape = problem_shape();
  std::vector<SessionDevice> devices = std::vector<SessionDevice>(2);
  GroupResult group;
};

TelemetryTrack track_of(const std::string& device,
                        std::vector<std::pair<Nanos, std::uint32_t>> all) {
  TelemetryTrack track{device, {}};
  for (const auto& [at, throttle] : all) {
    TelemetryReading& reading = track.readings.emplace_back();
    reading.at = at;
    reading.throttle = throttle;
  }
  return track;
}

}  // namespace

TEST_CASE(
    "throttling that telemetry sees in mid-sample is a change, and work that leaves answers") {
  OneSample one;
  const RunRecord run = one.record(
      {track_of("0:0", {{900ms, 0}, {1350ms, 0}, {1400ms, throttle::thermal}, {1900ms, 0}}),
       track_of("0:1", {{950ms, 0}, {1500ms, throttle::power_cap | throttle::thermal}}),
       track_of("0:9", {{950ms, 0}, {1500ms, throttle::thermal}})});
  REQUIRE(run.adaptations.size() == 2);
  const AdaptationRecord &first = run.adaptations[0], &second = run.adaptations[1];
  CHECK(first.device == "0:0");
  CHECK(first.cause == "throttling: thermal");
  CHECK(first.at == Nanos{400ms});
  CHECK(first.latency ==
        Nanos{200ms});  // the handover at 100 ms came before, that at 450 ms of 0:1
  CHECK(second.device == "0:1");
  CHECK(second.cause == "throttling: power cap, thermal");
  CHECK(second.at == Nanos{500ms});
  CHECK_FALSE(second.latency);
  CHECK(*run.metrics.adaptation_ms == doctest::Approx(200));
}

TEST_CASE("a device that was throttled before the sample, or never, changes nothing") {
  OneSample one;
  const RunRecord run = one.record({track_of("0:0", {{900ms, throttle::thermal}, {1400ms, 16}}),
                                    track_of("0:1", {{900ms, 0}, {1400ms, 0}})});
  CHECK(run.adaptations.empty());
  CHECK_FALSE(run.metrics.adaptation_ms);
  one.group.cases.back().samples.front().migration.reset();  // a strategy that moves nothing
  CHECK(one.record({track_of("0:0", {{900ms, 0}, {1400ms, 16}})}).adaptations.empty());
}
