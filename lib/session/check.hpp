// `check`: measures devices and links of a machine within a time budget, measures again what looks
// slow, and judges (lib/report/check_judgement.hpp).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/report/check_judgement.hpp"
#include "lib/session/check_works.hpp"
#include "lib/session/options.hpp"

namespace mgpu {

struct CheckOptions {
  std::vector<Device> devices;
  std::vector<Handicap> handicaps;  // by device; empty: none is throttled
  std::vector<CheckWork> works;
  std::vector<Bytes> all_reduces;  // sizes; empty: 1 MiB, and with GPUs alone also 64 MiB
  Nanos time = std::chrono::seconds(60);
  std::vector<CheckDocument> known;  // earlier checks
  CheckRules rules;
  std::optional<TelemetryPlaces> telemetry;  // none: turned off
  std::string tool, host, started;           // for the document
};

// The parts of a check, in their order. A part that needs less leaves its time to those after it,
// and each does a least amount of work even if there is no time left.
enum class CheckPart { works, rates, memory, links, again };

// Returns when the part is to end, if the check began at `begin` and is to take `time`.
Nanos end_of_part(CheckPart part, Nanos begin, Nanos time);

// Measures and judges. Devices that fail are findings. `progress` is told each next step. Throws
// Error(interrupted).
CheckDocument run_check(Backend& backend, const CheckOptions& options,
                        const std::function<void(const std::string&)>& progress);

}  // namespace mgpu
