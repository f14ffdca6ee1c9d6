#include "lib/session/watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/exec/backend.hpp"
#include "lib/exec/driver_call.hpp"
#include "lib/measure/device_state.hpp"
#include "lib/report/fault_words.hpp"

namespace mgpu {
namespace {

// Time between readings. One of an H200 and its host takes 3 to 11 ms, spent waiting for the
// driver; samples take no longer (results/telemetry.md).
constexpr Nanos kInterval = std::chrono::milliseconds(50);
// Largest distance from a short sample at which a reading may describe it: the host is read at
// every fourth reading of devices.
constexpr Nanos kReach = 5 * kInterval;

constexpr Nanos kMostForSettings = std::chrono::seconds(2);

// Shares of all cores that other programs may use without a warning. On CPUs they take what is
// measured; with GPUs the host only runs one worker per device.
constexpr double kOtherLoadCpu = 0.1, kOtherLoadHost = 0.5;

// Adds warnings, without figures that differ between cases, so that a table can say each once for
// all cases; the record has the figures.
void warn(RunRecord& run, const TelemetryFigures& figures, bool cpus) {
  if (figures.throttle != 0)
    run.warnings.push_back(fmt::format("{}: clocks were held down: {}", figures.of,
                                       fmt::join(throttle_words(figures.throttle), ", ")));
  if (const auto load = other_load(figures, cpus)) run.warnings.push_back(*load);
  const auto& others = figures[Gauge::other_processes];
  if (others && others->max > 0)
    run.warnings.push_back(figures.of + ": other processes compute on it");
}

}  // namespace

Watch::Watch(Backend& backend, const SessionOptions& options, TelemetryRecord& record)
    : devices_(options.devices), places_(options.telemetry.value_or(TelemetryPlaces{})) {
  record = {};
  if (backend.is_virtual()) {
    record.reason = "the devices and their clock are simulated";
    return;
  }
  if (!options.telemetry) {
    record.reason = "turned off";
    return;
  }
  std::vector<WatchedThing> things = find_telemetry(options.devices, *options.telemetry);
  if (std::none_of(things.begin(), things.end(),
                   [](const WatchedThing& thing) { return thing.reader != nullptr; })) {
    record.reason = things.front().reason;
    return;
  }
  record.interval = kInterval;
  for (const WatchedThing& thing : things)
    record.watched.push_back({thing.of, thing.source, thing.reason});
  telemetry_ = std::make_unique<Telemetry>(std::move(things), [&backend] { return backend.now(); });
  telemetry_->start(kInterval);
}

std::vector<TelemetryTrack> Watch::take() {
  return telemetry_ ? telemetry_->take() : std::vector<TelemetryTrack>{};
}

std::vector<DeviceState> Watch::states() const {
  std::vector<DeviceState> states(devices_.size());
  if (!telemetry_) return states;
  for (std::size_t i = 0; i < states.size(); ++i) {
    try {
      states[i] = driver_result(
          "reading the settings of " + devices_[i].id, kMostForSettings, {},
          [device = devices_[i], places = places_] { return read_device_state(device, places); });
    } catch (const Error&) {  // the driver hangs: reading other devices would hang, too
      break;
    }
  }
  return states;
}

namespace {

std::optional<std::string> load_above(const TelemetryFigures& host, double most) {
  const auto& load = host[Gauge::other_load];
  if (!load || load->mean <= most) return std::nullopt;
  return other_load_words(std::span(&load->mean, 1));
}

}  // namespace

std::optional<std::string> other_load(const TelemetryFigures& host, bool cpus) {
  return load_above(host, cpus ? kOtherLoadCpu : kOtherLoadHost);
}

std::optional<std::string> other_load_above(std::span<const TelemetryTrack> tracks, double most) {
  for (const TelemetryTrack& track : tracks) {
    if (track.of != kHost || track.readings.empty()) continue;
    const TimeWindow whole{track.readings.front().at, track.readings.back().at};
    return load_above(summarise_telemetry(track, {&whole, 1}, kReach), most);
  }
  return std::nullopt;
}

std::optional<std::string> other_load(std::span<const TelemetryTrack> tracks, bool cpus) {
  return other_load_above(tracks, cpus ? kOtherLoadCpu : kOtherLoadHost);
}

void add_telemetry(RunRecord& run, std::span<const TimeWindow> samples,
                   std::span<const TelemetryTrack> tracks, bool cpus) {
  for (const TelemetryTrack& track : tracks) {
    const bool own = track.of == kHost || std::find(run.devices.begin(), run.devices.end(),
                                                    track.of) != run.devices.end();
    if (!own) continue;
    run.telemetry.push_back(summarise_telemetry(track, samples, kReach));
    warn(run, run.telemetry.back(), cpus);
    for (TelemetryReading& reading : readings_of_sample(track, samples[run.sample_index], kReach))
      run.telemetry_points.push_back({track.of, reading});
  }
}

void add_energy_warnings(RunRecord& run, std::span<const TimeWindow> blocks,
                         std::span<const TelemetryTrack> tracks) {
  constexpr double kDisagree = 0.05, kWarmer = 3;  // degrees
  const auto used = [&](const std::string& of) {
    return std::find(run.devices.begin(), run.devices.end(), of) != run.devices.end();
  };
  for (const EnergyFigures& one : run.energy->counters)
    if (used(one.of) && one.joules && one.by_power &&
        std::abs(*one.by_power - *one.joules) > kDisagree * *one.joules)
      run.warnings.push_back(
          fmt::format("{}: energy is {:.3g} J by its counter and {:.3g} J by its power", one.of,
                      *one.joules, *one.by_power));
  for (const TelemetryTrack& track : tracks) {
    if (!used(track.of)) continue;
    const auto warmed = [&](const TimeWindow& block) {
      const TelemetryFigures figures = summarise_telemetry(track, {&block, 1}, Nanos{});
      const auto& temperature = figures[Gauge::temperature];
      return temperature && temperature->max - temperature->min >= kWarmer;
    };
    const auto throttled = [&](const TimeWindow& block) {
      return throttling_begun(track, block) != nullptr;
    };
    if (std::any_of(blocks.begin(), blocks.end(), warmed))
      run.warnings.push_back(track.of + ": its temperature changed while energy was measured");
    if (std::any_of(blocks.begin(), blocks.end(), throttled))
      run.warnings.push_back(track.of +
                             ": its clocks began to be held down while energy was measured");
  }
}

void add_state_warnings(RunRecord& run, std::span<const Device> devices,
                        std::span<const DeviceState> before, std::span<const DeviceState> after) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::string& id = devices[i].id;
    if (std::find(run.devices.begin(), run.devices.end(), id) == run.devices.end()) continue;
    for (const SettingChange& change : setting_changes(before[i], after[i]))
      run.warnings.push_back(fmt::format("{}: its {} changed while it was measured: {} -> {}", id,
                                         change.info->label, change.before, change.after));
    const auto& most = after[i][Setting::pcie_width_max];
    for (const TelemetryFigures& figures : run.telemetry) {
      const auto& lanes = figures[Gauge::pcie_width];
      if (figures.of == id && most && lanes && lanes->max < std::get<double>(*most))
        run.warnings.push_back(fmt::format("{}: its PCIe link works with {} lanes of {}", id,
                                           lanes->max, std::get<double>(*most)));
    }
  }
}

void add_core_warning(RunRecord& run, std::span<const Device> devices, double cores) {
  std::vector<std::string> cpus;
  std::uint32_t units = 0;
  for (const Device& device : devices) {
    if (!device.is_cpu() || device.is_elsewhere() ||
        std::find(run.devices.begin(), run.devices.end(), device.id) == run.devices.end())
      continue;
    cpus.push_back(device.id);
    units += device.compute_units;
  }
  if (cores > 0 && units > cores)
    run.warnings.push_back(
        fmt::format("{}: {} compute units share {} {}, all that the process may use",
                    fmt::join(cpus, ", "), units, cores, cores == 1 ? "core" : "cores"));
}

}  // namespace mgpu
