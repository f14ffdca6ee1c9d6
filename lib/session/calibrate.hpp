// Calibration of a set of devices: from the store where it holds one, measured where it does not. How it is measured is
// lib/exec/calibration.hpp's matter, how it is kept lib/report/calibration_store.hpp's.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/exec/backend.hpp"
#include "lib/report/calibration_store.hpp"

namespace mgpu {

enum class CalibrationOrigin { none, kept, measured };

struct CalibrationResult {
  Calibration calibration;
  std::vector<CalibrationOrigin> origins;  // by device; none: it failed, or nothing is kept
  CalibrationOrigin link_origin = CalibrationOrigin::none;
  std::vector<std::optional<Bytes>> free_memory;  // by device, when opened; of all devices of the set together
  std::vector<std::string> warnings;
  std::size_t failed = 0;  // devices that could not be measured
};

// What is kept of them; measures nothing and opens nothing.
CalibrationResult kept_calibration(std::span<const Device> devices, const CalibrationStore& store);

// Opens every device, measures what is not kept (everything, if `afresh`) and keeps it. A device that fails is a warning, and then
// the link is not measured. Blocks: see lib/exec/calibration.hpp.
CalibrationResult calibrate(Backend& backend, std::span<const Device> devices, const CalibrationStore& store, bool afresh);

}  // namespace mgpu
