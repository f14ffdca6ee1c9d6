// Counters of memory errors that hardware detects: NVML's of an NVIDIA GPU, ras/umc_err_count of an
// AMD one in sysfs, those of EDAC for the host's memory.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/measure/telemetry_sources.hpp"

namespace mgpu {

// Errors since the driver was loaded.
struct EccErrors {
  std::uint64_t corrected = 0, uncorrected = 0;
};

// None: the device has no counters, or they cannot be read. Calls a driver.
std::optional<EccErrors> read_ecc_errors(const Device& device, const TelemetryPlaces& places);

}  // namespace mgpu
