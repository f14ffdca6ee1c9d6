#include "lib/measure/device_status.hpp"

#include <algorithm>
#include <cmath>

namespace mgpu {
namespace {

std::optional<double> known(const TelemetryReading& reading, Gauge gauge) {
  const double value = reading[gauge];
  return std::isnan(value) ? std::nullopt : std::optional(value);
}

// Returns which figures are missing, and why: "utilisation, temperature: NVML does not report
// them".
std::string why_unknown(const DeviceStatus& status, const std::string& reason) {
  std::string missing;
  const auto add = [&](bool is_known, const char* name) {
    if (!is_known) missing += (missing.empty() ? "" : ", ") + std::string(name);
  };
  add(status.used.has_value(), "used memory");
  add(status.utilisation.has_value(), "utilisation");
  add(status.temperature_c.has_value(), "temperature");
  if (missing.empty()) return {};
  return missing + ": " + (reason.empty() ? status.source + " does not report it" : reason);
}

}  // namespace

StatusReader::StatusReader(std::span<const Device> devices, const TelemetryPlaces& places)
    : devices_(devices.begin(), devices.end()),
      places_(places),
      things_(find_telemetry(devices, places)) {}

std::vector<DeviceStatus> StatusReader::read(Nanos elapsed, Bytes allocated) {
  const TelemetryReading host =
      things_.front().reader ? things_.front().reader->read(elapsed) : TelemetryReading{};
  std::vector<DeviceStatus> all;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const Device& device = devices_[i];
    const WatchedThing& thing = things_[i + 1];
    DeviceStatus& status = all.emplace_back();
    status.id = device.id;
    status.name = device.name;
    status.total = device.global_memory;
    status.allocated = allocated;
    status.source = thing.source;
    const bool on_host = thing.source == kHost;
    const TelemetryReading reading = on_host        ? host
                                     : thing.reader ? thing.reader->read(elapsed)
                                                    : TelemetryReading{};
    if (const auto used = known(reading, Gauge::memory_used)) {
      status.used = static_cast<Bytes>(*used);
      status.free = status.total - std::min(status.total, *status.used);
      if (const Nvml* nvml = device.is_cpu() ? nullptr : places_.nvml())
        if (const auto free = nvml->free_memory(device)) status.free = free;
      status.used_by_others = *status.used - std::min(*status.used, allocated);
      if (status.total > 0)
        status.allocation = static_cast<double>(*status.used) / static_cast<double>(status.total);
    }
    status.utilisation = known(reading, on_host ? Gauge::load : Gauge::utilisation);
    status.temperature_c = known(reading, Gauge::temperature);
    status.reason = why_unknown(status, thing.source.empty() ? thing.reason : "");
  }
  return all;
}

}  // namespace mgpu
