// The calibrations of this user: where they are kept, and what commands do with them.
#pragma once

#include <span>

#include "app/commands.hpp"
#include "lib/session/calibrate.hpp"

namespace mgpu {

// In the folder "calibration" of the cache directory; under --no-cache one that keeps nothing.
CalibrationStore calibration_store(const Context& context);

// What is kept, under --recalibrate measured anew: a run without it measures nothing but its workloads.
CalibrationResult calibration_for_run(const Context& context, Backend& backend, std::span<const Device> devices);

}  // namespace mgpu
