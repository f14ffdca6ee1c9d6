// `calibrate --tune`: measures all kernel variants of a suite on a device, has each verified
// against the suite's reference, and caches the fastest. How it is cached is in
// lib/report/calibration_store.hpp.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lib/session/calibrate.hpp"

namespace mgpu {

// Every suite that has variants, on every device, in the size `calibrate` takes: from the store, or
// (all, if `afresh`) measured and cached. What fails adds to `warnings`. Blocks: some seconds a
// variant.
std::vector<Tuning> tune_suites(Backend& backend, std::span<const Device> devices,
                                std::span<const SuiteInfo> suites, const CalibrationStore& store,
                                bool afresh, std::vector<std::string>& warnings,
                                const StepNotice& begins = {});

}  // namespace mgpu
