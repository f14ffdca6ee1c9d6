// The calibrations of this user: where they are cached, and what commands do with them.
#pragma once

#include <span>

#include "app/commands.hpp"
#include "lib/session/calibrate.hpp"
#include "lib/session/options.hpp"

namespace mgpu {

// In the folder "calibration" of the cache directory; under --no-cache one that keeps nothing.
CalibrationStore calibration_store(const Context& context);

// Fills in what the session is to know of `devices`, and adds what is wrong with it to `warnings`. That is what is cached; it is
// measured anew under --recalibrate and, if the command `measures`, where nothing is cached of a GPU (but for --no-cache, which
// neither keeps nor uses).
void calibrate_for_run(const Context& context, Backend& backend, std::span<const Device> devices, SessionOptions& session,
                       std::vector<std::string>& warnings, bool measures);

}  // namespace mgpu
