// The calibrations of this user: where they are cached, and what commands do with them.
#pragma once

#include <span>

#include "app/commands.hpp"
#include "lib/session/calibrate.hpp"
#include "lib/session/options.hpp"

namespace mgpu {

// In the folder "calibration" of the cache directory; under --no-cache one that caches nothing.
CalibrationStore calibration_store(const Context& context);

// Fills in what the session is to know of `devices`, and adds what is wrong with it to `warnings`:
// what is cached, or what is measured anew under --recalibrate and, if the command `measures`,
// where nothing is cached of a GPU (except under --no-cache, where nothing is read from or written
// to the cache).
void calibrate_for_run(const Context& context, Backend& backend, std::span<const Device> devices,
                       SessionOptions& session, std::vector<std::string>& warnings, bool measures);

}  // namespace mgpu
