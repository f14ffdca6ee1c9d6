// The effect of telemetry on a record: figures and warnings, and a statement if there is none.
#include "lib/session/watch.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <thread>

#include "tests/support/fake_backend.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/sum_session.hpp"
#include "tests/support/sum_suite.hpp"

using namespace mgpu;

namespace {

TelemetryTrack track(const std::string& of, Gauge gauge, double value, std::uint32_t throttle = 0) {
  TelemetryReading reading;
  reading.at = Nanos{500};
  reading[gauge] = value;
  reading.throttle = throttle;
  return {of, {reading}};
}

// Returns a case on 0:0 and 0:1 with `samples` samples.
RunRecord recorded(std::size_t samples, std::vector<TelemetryTrack> tracks, bool cpus) {
  RunRecord run;
  run.devices = {"0:0", "0:1"};
  run.samples.assign(samples, Nanos{1000});
  const std::vector<TimeWindow> windows(samples, {Nanos{0}, Nanos{1000}});
  add_telemetry(run, windows, tracks, cpus);
  return run;
}

// Checks that each of these words is in the only warning; without words, that there is none.
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

TEST_CASE("energy is doubtful if counter and power disagree, or the device changed meanwhile") {
  TelemetryTrack device = track("0:0", Gauge::temperature, 50);
  device.readings.push_back(device.readings.front());
  device.readings.back().at = Nanos{900};
  std::vector<TimeWindow> blocks{{Nanos{400}, Nanos{1000}}};
  const auto warnings = [&](double by_power, double warmer, std::uint32_t throttle) {
    RunRecord run = recorded(0, {}, false);
    EnergyFigures& counter = run.energy.emplace().counters.emplace_back();
    counter.of = "0:0";
    counter.joules = 10;
    counter.by_power = by_power;
    device.readings.back()[Gauge::temperature] = 50 + warmer;
    device.readings.back().throttle = throttle;
    add_energy_warnings(run, blocks, {&device, 1});
    return run.warnings;
  };
  CHECK(says(warnings(10.4, 2.9, 0), {}));
  CHECK(says(warnings(9.4, 0, 0), {"0:0", "10 J", "9.4 J"}));
  CHECK(says(warnings(10, 3, 0), {"0:0", "temperature"}));
  CHECK(says(warnings(10, 0, throttle::power_cap), {"0:0", "held down"}));
  blocks = {{Nanos{400}, Nanos{700}}, {Nanos{800}, Nanos{1000}}};
  CHECK(says(warnings(10, 3, 0), {}));  // warmer in the second block
}

TEST_CASE("how much other programs used of the time that tracks are of, where that disturbs") {
  TelemetryTrack host = track(kHost, Gauge::other_load, 0.8);
  host.readings.insert(host.readings.begin(), TelemetryReading{});  // the first reading has no load
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

TEST_CASE("settings that change while a case is measured are a warning, as is a narrow PCIe link") {
  std::vector<Device> devices(2);
  devices[0].id = "0:0";
  devices[1].id = "0:7";  // a device of another case
  const auto warnings = [&](const DeviceState& before, const DeviceState& after, double lanes) {
    RunRecord run = recorded(5, {track("0:0", Gauge::pcie_width, lanes)}, false);
    add_state_warnings(run, devices, std::vector{before, before}, std::vector{after, after});
    return run.warnings;
  };
  DeviceState before, after;
  CHECK(says(warnings(before, after, 16), {}));
  before[Setting::power_limit] = 700.0;
  before[Setting::pcie_width_max] = after[Setting::pcie_width_max] = 16.0;
  CHECK(says(warnings(before, after, 16), {}));  // it could no longer be read
  after = before;
  after[Setting::throttle] = std::string("power cap");
  CHECK(says(warnings(before, after, 16), {}));
  after[Setting::power_limit] = 500.0;
  CHECK(says(warnings(before, after, 16), {"0:0", "power limit", "700 W -> 500 W"}));
  CHECK(says(warnings(before, before, 8), {"0:0", "8 lanes of 16"}));
}

TEST_CASE("CPU devices that share fewer cores than they have units are a warning") {
  std::vector<Device> devices(3);
  for (std::size_t i = 0; i < 3; ++i) {
    devices[i].id = "0:" + std::to_string(i);
    devices[i].type = DeviceType::cpu;
    devices[i].compute_units = 1;
  }
  const auto warnings = [&](double cores) {
    RunRecord run = recorded(5, {}, true);
    add_core_warning(run, devices, cores);
    return run.warnings;
  };
  CHECK(says(warnings(0), {}));  // unknown
  CHECK(says(warnings(2), {}));
  CHECK(says(warnings(1.5), {"0:0, 0:1", "2 compute units", "1.5 cores"}));
  devices[1].type = DeviceType::gpu;
  CHECK(says(warnings(1), {}));
}

TEST_CASE("a session records the settings before and after, and marks what was measured between") {
  test::TemporaryFolder folder;
  const std::filesystem::path governor =
      folder.path() / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
  std::filesystem::create_directories(governor.parent_path());
  std::ofstream(governor) << "performance\n";
  std::filesystem::create_directories(folder.path() / "proc");
  std::ofstream(folder.path() / "proc/meminfo") << "MemTotal: 2 kB\nMemAvailable: 1 kB\n";
  struct Changing final : test::QuietObserver {
    explicit Changing(std::filesystem::path f) : file(std::move(f)) {}
    void finished(std::size_t) override { std::ofstream(file) << "powersave\n"; }
    std::filesystem::path file;
  } observer(governor);
  FakeBackend backend({test::sum_device("0:0", DeviceType::cpu)}, test::sum_kernels(),
                      FakeTime::is_real);
  SessionOptions options =
      test::options_on(backend.enumerate().devices, test::problem_of(test::sum_suite(), 100),
                       test::kBothModes, "single");
  options.stop.exactly = 1;
  options.telemetry = TelemetryPlaces{.root = folder.path(),
                                      .nvml = [] { return static_cast<const Nvml*>(nullptr); }};
  const Report report = run_session(backend, options, {}, observer);
  REQUIRE(report.devices.size() == 1);
  CHECK(report.devices[0].before[Setting::governor] == SettingValue("performance"));
  CHECK(report.devices[0].after[Setting::governor] == SettingValue("powersave"));
  REQUIRE(report.runs.size() == 2);  // the change falls into the second
  const auto marks = [](const RunRecord& run) {
    return std::count_if(run.warnings.begin(), run.warnings.end(), [](const std::string& text) {
      return text.find("performance -> powersave") != std::string::npos;
    });
  };
  CHECK(marks(report.runs[0]) == 0);
  CHECK(marks(report.runs[1]) == 1);
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
