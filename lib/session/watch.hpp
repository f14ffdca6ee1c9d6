// Telemetry of a session: what is watched while it runs, and what of that goes into a record,
// warnings on it among them.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lib/device/device_state.hpp"
#include "lib/measure/telemetry.hpp"
#include "lib/session/options.hpp"

namespace mgpu {

// From its making to its end the machine and the session's devices are looked at every 50 ms, when
// the options ask for it and time is real. `record` gets what is watched, by what, and why
// something is not.
class Watch {
 public:
  Watch(Backend& backend, const SessionOptions& options, TelemetryRecord& record);
  std::vector<TelemetryTrack> take();  // see Telemetry; empty when nothing is watched
  // Returns the settings of each of the session's devices now; nothing of one whose driver does not
  // answer.
  std::vector<DeviceState> states() const;

 private:
  std::vector<Device> devices_;
  TelemetryPlaces places_;
  std::unique_ptr<Telemetry> telemetry_;
};

// Adds warnings where settings of the case's devices differ before and after it, by `devices`, and
// where a device's PCIe link has fewer lanes than it could have. After add_telemetry().
void add_state_warnings(RunRecord& run, std::span<const Device> devices,
                        std::span<const DeviceState> before, std::span<const DeviceState> after);

// Adds a warning where the case's CPU devices have more compute units than there are cores for the
// process, which they then share. `cores` 0: not known.
void add_core_warning(RunRecord& run, std::span<const Device> devices, double cores);

// "other programs used about 70 % of the cores", where so much disturbs measurements. `host`:
// figures of kHost; `cpus`: it ran on CPUs alone.
std::optional<std::string> other_load(const TelemetryFigures& host, bool cpus);

// The same of all the time that the tracks are of, without looking at any samples.
std::optional<std::string> other_load(std::span<const TelemetryTrack> tracks, bool cpus);

// Returns the same words where others used more than that share of the cores.
std::optional<std::string> other_load_above(std::span<const TelemetryTrack> tracks, double most);

// Fills in a case's figures, those of the sample shown, and warnings: clocks held down, other load.
// `samples` in the order of the record's; `cpus`: it ran on CPUs alone.
void add_telemetry(RunRecord& run, std::span<const TimeWindow> samples,
                   std::span<const TelemetryTrack> tracks, bool cpus);

}  // namespace mgpu
