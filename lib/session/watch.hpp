// Telemetry of a session: readings while it runs, and their figures and warnings in records.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lib/device/device_state.hpp"
#include "lib/measure/telemetry.hpp"
#include "lib/session/options.hpp"

namespace mgpu {

// Reads the state of the machine and the session's devices every 50 ms during its lifetime, if the
// options ask for it and time is real. `record` gets what is watched, by what source, and why
// something is not.
class Watch {
 public:
  Watch(Backend& backend, const SessionOptions& options, TelemetryRecord& record);
  std::vector<TelemetryTrack> take();  // see Telemetry; empty when nothing is watched
  // Returns the current settings of each of the session's devices; empty for one whose driver does
  // not answer, and for those after it.
  std::vector<DeviceState> states() const;

 private:
  std::vector<Device> devices_;
  TelemetryPlaces places_;
  std::unique_ptr<Telemetry> telemetry_;
};

// Adds warnings if settings of the case's devices differ before and after it, by `devices`, and if
// a device's PCIe link has fewer lanes than it could have. Must be called after add_telemetry().
void add_state_warnings(RunRecord& run, std::span<const Device> devices,
                        std::span<const DeviceState> before, std::span<const DeviceState> after);

// Adds a warning if the case's CPU devices have more compute units than there are cores for the
// process, which they then share. `cores` 0: not known.
void add_core_warning(RunRecord& run, std::span<const Device> devices, double cores);

// Returns "other programs used about 70 % of the cores" if the load disturbs measurements. `host`:
// figures of kHost; `cpus`: the case ran on CPUs alone.
std::optional<std::string> other_load(const TelemetryFigures& host, bool cpus);

// Returns the same for the whole time of the tracks, without regard to samples.
std::optional<std::string> other_load(std::span<const TelemetryTrack> tracks, bool cpus);

// Returns the same words if others used more than that share of the cores.
std::optional<std::string> other_load_above(std::span<const TelemetryTrack> tracks, double most);

// Adds warnings on what makes the case's energy doubtful: the counter and the power disagree, or a
// device became warmer or was held down in its block.
void add_energy_warnings(RunRecord& run, std::span<const TimeWindow> blocks,
                         std::span<const TelemetryTrack> tracks);

// Fills in a case's figures, those of the sample shown, and warnings on throttled clocks and other
// load. `samples` in the order of the record's; `cpus`: it ran on CPUs alone.
void add_telemetry(RunRecord& run, std::span<const TimeWindow> samples,
                   std::span<const TelemetryTrack> tracks, bool cpus);

}  // namespace mgpu
