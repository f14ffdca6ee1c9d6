// The use of devices before this program uses them.
#pragma once

#include <span>
#include <vector>

#include "lib/device/device_use.hpp"
#include "lib/measure/telemetry_sources.hpp"

namespace mgpu {

// Returns the use of each device, from one reading of its telemetry; nothing of CPUs, whose load
// takes two.
std::vector<DeviceUse> current_use(std::span<const Device> devices, const TelemetryPlaces& places);

}  // namespace mgpu
