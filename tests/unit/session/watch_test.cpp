// What telemetry does to a record: figures, warnings; and that its absence is stated.
#include "lib/session/watch.hpp"

#include <doctest/doctest.h>

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

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE(
    "clocks that were held down, other load and other processes are warnings on the rows they "
    "touch") {
  CHECK(recorded(5, {track(kHost, Gauge::other_load, 0.09)}, true).warnings.empty());
  CHECK(recorded(5, {track(kHost, Gauge::other_load, 0.34)}, true).warnings ==
        Lines{"other programs used about 30 % of the cores"});
  CHECK(recorded(5, {track(kHost, Gauge::other_load, 0.34)}, false).warnings.empty());
  CHECK(
      recorded(5, {track("0:1", Gauge::clock, 900, throttle::thermal | throttle::power_cap)}, false)
          .warnings == Lines{"0:1: clocks were held down: power cap, thermal"});
  CHECK(recorded(5, {track("0:0", Gauge::other_processes, 2)}, false).warnings ==
        Lines{"0:0: other processes compute on it"});
  CHECK(recorded(5, {track("0:0", Gauge::other_processes, 0)}, false).warnings.empty());
}

TEST_CASE("how much other programs used of the time that tracks are of, where that disturbs") {
  TelemetryTrack host = track(kHost, Gauge::other_load, 0.8);
  host.readings.insert(host.readings.begin(), TelemetryReading{});  // the first knows no load
  host.readings.push_back(host.readings.back());
  host.readings.back().at = Nanos{900};
  host.readings.back()[Gauge::other_load] = 0.6;
  const std::vector<TelemetryTrack> tracks{track("0:0", Gauge::power, 1), host};
  CHECK(other_load(tracks, true) == "other programs used about 70 % of the cores");
  CHECK(other_load(tracks, false) == "other programs used about 70 % of the cores");
  CHECK_FALSE(other_load(std::vector<TelemetryTrack>{track(kHost, Gauge::other_load, 0.3)}, false));
  CHECK_FALSE(other_load(std::vector<TelemetryTrack>{{kHost, {}}}, true));
  CHECK_FALSE(other_load(std::vector<TelemetryTrack>{}, true));
}

TEST_CASE(
    "a record has the figures of the host and of its own devices, and readings of the sample "
    "shown") {
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

TEST_CASE(
    "why nothing is watched is stated: a simulated clock, turned off, a machine that tells "
    "nothing") {
  FakeBackend simulated({FakeDevice{}}, {});
  TelemetryRecord record;
  SessionOptions options;
  options.telemetry = TelemetryPlaces{};
  CHECK(Watch(simulated, options, record).take().empty());
  CHECK(record.reason == "the devices and their clock are simulated");
  CHECK(record.interval == Nanos{});

  FakeBackend real({FakeDevice{}}, {}, FakeTime::is_real);
  CHECK(Watch(real, SessionOptions{}, record).take().empty());
  CHECK(record.reason == "turned off");
  options.telemetry->root = "/nowhere";
  CHECK(Watch(real, options, record).take().empty());
  CHECK(record.reason == "there is no /nowhere/proc/meminfo: not Linux, or hidden");

  options.telemetry = TelemetryPlaces{};
  Watch watch(real, options, record);
  CHECK(record.reason == "");
  CHECK(record.watched.at(0).source == "procfs, sysfs");
  while (watch.take().at(0).readings.empty()) std::this_thread::yield();
}
