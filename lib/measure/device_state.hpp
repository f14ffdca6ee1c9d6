// Reads the settings that a device works under: a GPU's from NVML or, with other drivers, from
// sysfs; a CPU's from cpufreq. Settings that are hidden or not supported stay unknown; nothing is
// guessed.
#pragma once

#include "lib/device/device_state.hpp"
#include "lib/measure/telemetry_sources.hpp"

namespace mgpu {

// Returns the device's current settings; none for a device of another node. Calls a driver.
DeviceState read_device_state(const Device& device, const TelemetryPlaces& places);

}  // namespace mgpu
