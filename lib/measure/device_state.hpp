// Reads the settings that a device works under: a GPU's from NVML or, with other drivers, from
// sysfs; a CPU's from cpufreq. What is hidden or not supported is not known; nothing is guessed.
#pragma once

#include "lib/device/device_state.hpp"
#include "lib/measure/telemetry_sources.hpp"

namespace mgpu {

// Returns the device's settings now; none of a device of another node. Enters a driver.
DeviceState read_device_state(const Device& device, const TelemetryPlaces& places);

}  // namespace mgpu
