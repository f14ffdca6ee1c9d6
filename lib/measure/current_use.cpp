#include "lib/measure/current_use.hpp"

#include <cmath>

namespace mgpu {

std::vector<DeviceUse> current_use(std::span<const Device> devices, const TelemetryPlaces& places) {
  std::vector<DeviceUse> all(devices.size());
  for (const WatchedThing& thing : find_telemetry(devices, places)) {
    if (!thing.reader || thing.of == kHost) continue;
    const TelemetryReading reading = thing.reader->read(Nanos{});
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (devices[i].id != thing.of) continue;
      if (const double busy = reading[Gauge::utilisation]; !std::isnan(busy))
        all[i].utilisation = busy;
      if (const double bytes = reading[Gauge::memory_used]; !std::isnan(bytes))
        all[i].memory_used = static_cast<Bytes>(bytes);
    }
  }
  return all;
}

}  // namespace mgpu
