// The user's calibrations: where they are cached, and what commands do with them.
#pragma once

#include <span>

#include "app/commands.hpp"
#include "lib/session/calibrate.hpp"
#include "lib/session/options.hpp"

namespace mgpu {

// Returns the store in the folder "calibration" of the cache directory, or one that caches nothing
// under --no-cache.
CalibrationStore calibration_store(const Context& context);

// Fills in what the session knows of `devices`, and adds problems with it to `warnings`. Takes
// cached calibrations, and measures again under --recalibrate. If the command `measures`, it also
// measures the set if a GPU has nothing cached. Under --no-cache nothing is read from or written to
// the cache.
void calibrate_for_run(const Context& context, Backend& backend, std::span<const Device> devices,
                       SessionOptions& session, std::vector<std::string>& warnings, bool measures);

// Throws Error(usage) if `plan` lacks figures for the session's first problem, with the commands
// that measure them.
void require_calibration(const Context& context, const SessionOptions& session);

}  // namespace mgpu
