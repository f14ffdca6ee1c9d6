// What telemetry does to a record: figures, warnings; and that its absence is stated.
#include "lib/session/watch.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <thread>

#include "lib/exec/fake_backend.hpp"

using namespace mgpu;

namespace {

TelemetryTrack track(const std::string& of, Gauge gauge, double value, std::uint32_t throttle = 0) {
  TelemetryReading reading;
  reading.at = Nanos{500};
  reading[gauge] = value;
  reading.throttle = throttle;
  return {of, {reading}};
}

// A case on 0:0 and 0:1 with `samples` samples.
RunRecord recorded(std::size_t samples, std::vector<TelemetryTrack> tracks, bool cpus) {
  RunRecord run;
  run.devices = {"0:0", "0:1"};
  run.samples.assign(samples, Nanos{1000});
  const std::vector<TimeWindow> windows(samples, {Nanos{0}, Nanos{1000}});
  add_telemetry(run, windows, tracks, cpus);
  return run;
}

// Whether each of these words is in the only warning; no words: there is none.
bool says(const std::vector<std::string>& warnings, std::initializer_list<const char*> words) {
  return warnings.size() == (words.size() > 0 ? 1 : 0) &&
         std::all_of(words.begin(), words.end(),
                     [&](const char* word) { return warnings[0].find(word) != std::string::npos; });
}

}  // namespace

TEST_CASE("held clocks, other load and other processes are warnings on the rows they touch") {
  const auto warnings = [](const TelemetryTrack& given, bool cpus) {
    return recorded(5, {given}, cpus).warnings;
  };
  CHECK(says(warnings(track(kHost, Gauge::other_load, 0.09), true), {}));
  CHECK(says(warnings(track(kHost, Gauge::other_load, 0.34), true), {"30 %"}));
  CHECK(says(warnings(track(kHost, Gauge::other_load, 0.34), false), {}));
  CHECK(says(
      warnings(track("0:1", Gauge::clock, 900, throttle::thermal | throttle::power_cap), false),
      {"0:1", "power cap, thermal"}));
  CHECK(says(warnings(track("0:0", Gauge::other_processes, 2), false), {"0:0"}));
  CHECK(says(warnings(track("0:0", Gauge::other_processes, 0), false), {}));
}

TEST_CASE("how much other programs used of the time that tracks are of, where that disturbs") {
  TelemetryTrack host = track(kHost, Gauge::other_load, 0.8);
  host.readings.insert(host.readings.begin(), TelemetryReading{});  // the first knows no load
  host.readings.push_back(host.readings.back());
  host.readings.back().at = Nanos{900};
  host.readings.back()[Gauge::other_load] = 0.6;
  const std::vector<TelemetryTrack> tracks{track("0:0", Gauge::power, 1), host};
  for (const bool cpus : {true, false}) CHECK(says({other_load(tracks, cpus).value()}, {"70 %"}));
  CHECK(says({other_load_above(tracks, 0.65).value()}, {"70 %"}));
  CHECK_FALSE(other_load_above(tracks, 0.75));
  CHECK_FALSE(other_load(std::vector<TelemetryTrack>{track(kHost, Gauge::other_load, 0.3)}, false));
  CHECK_FALSE(other_load(std::vector<TelemetryTrack>{{kHost, {}}}, true));
  CHECK_FALSE(other_load(std::vector<TelemetryTrack>{}, true));
}

TEST_CASE("a record has the figures of its host and devices, and readings of the sample shown") {
  const RunRecord run = recorded(5,
                                 {track(kHost, Gauge::load, 0.5), track("0:0", Gauge::power, 300),
                                  track("0:7", Gauge::power, 1)},
                                 false);
  REQUIRE(run.telemetry.size() == 2);
  CHECK(run.telemetry[1].of == "0:0");
  CHECK(run.telemetry[1].readings == 5);
  REQUIRE(run.telemetry_points.size() == 2);
  CHECK(run.telemetry_points[1].reading[Gauge::power] == 300);
  CHECK(run.telemetry_points[1].reading.at == Nanos{500});
}

TEST_CASE("why nothing is watched is stated: a simulated clock, turned off, nothing to read") {
  FakeBackend simulated({FakeDevice{}}, {}), real({FakeDevice{}}, {}, FakeTime::is_real);
  SessionOptions off, on, nowhere;
  on.telemetry = TelemetryPlaces{};
  nowhere.telemetry = TelemetryPlaces{.root = "/nowhere"};
  TelemetryRecord record;
  std::set<std::string> reasons;
  for (const auto& [backend, options] :
       {std::pair(&simulated, &on), std::pair(&real, &off), std::pair(&real, &nowhere)}) {
    CHECK(Watch(*backend, *options, record).take().empty());
    CHECK(reasons.insert(record.reason).second);
  }
  CHECK(record.reason.find("/nowhere") != std::string::npos);
  CHECK_FALSE(reasons.contains(""));
  Watch watch(real, on, record);
  CHECK(record.reason == "");
  CHECK(record.watched.at(0).source == "procfs, sysfs");
  while (watch.take().at(0).readings.empty()) std::this_thread::yield();
}
