// Reads the status of devices from the sources of telemetry.
#pragma once

#include <span>
#include <vector>

#include "lib/device/device_status.hpp"
#include "lib/measure/telemetry_sources.hpp"

namespace mgpu {

class StatusReader {
 public:
  StatusReader(std::span<const Device> devices, const TelemetryPlaces& places);
  // Reads the status of all devices. `elapsed`: time since the previous call, or since the reader
  // was made: the load of a CPU is that of this time. `allocated`: buffers of this process.
  std::vector<DeviceStatus> read(Nanos elapsed, Bytes allocated = 0);

 private:
  const std::vector<Device> devices_;
  const TelemetryPlaces places_;
  std::vector<WatchedThing> things_;  // the host, then the devices
};

}  // namespace mgpu
