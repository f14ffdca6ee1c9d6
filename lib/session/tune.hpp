// `calibrate --tune`: measures all kernel variants of a suite on a device, verifies each against
// the suite's reference, and caches the fastest (lib/report/calibration_store.hpp).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lib/session/calibrate.hpp"

namespace mgpu {

// Returns the fastest variant of every suite that has variants, on every device, in the size of
// `calibrate`: cached, or measured and cached (all, if `afresh`). Failures add to `warnings`.
// Blocks: some seconds per variant.
std::vector<Tuning> tune_suites(Backend& backend, std::span<const Device> devices,
                                std::span<const SuiteInfo> suites, const CalibrationStore& store,
                                bool afresh, std::vector<std::string>& warnings,
                                const StepNotice& begins = {});

}  // namespace mgpu
