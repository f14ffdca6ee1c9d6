// The exit codes of the tool, as in the table of lib/report/README.md: the code of each kind of
// failure, and which one wins.
#pragma once

#include <span>

#include "lib/base/error.hpp"
#include "lib/report/comparison.hpp"
#include "lib/report/record.hpp"

namespace mgpu {

enum class ExitCode : int {
  ok = 0,
  internal = 1,      // a bug, or an output that cannot be written
  usage = 2,         // also a bad input file, and results that are not comparable or too small
  regression = 3,    // also a missing case, a worsening in a history, a missed requirement
  inconclusive = 4,  // slower but undecided, any if asked for; a requirement not shown to be met
  failed = 5,        // a case failed or none could run; under --strict also one that was skipped
  unverified = 6,    // a result was wrong
  no_device = 7,
  too_few_devices = 77,  // CTest's SKIP_RETURN_CODE and Automake's skip
  profiler = 125,        // profile failed itself, as env does
  hung_up = 129,         // 128 + SIGHUP
  interrupted = 130,     // 128 + SIGINT
  terminated = 143,      // 128 + SIGTERM
};

ExitCode exit_code(ErrorKind kind);

// Returns the first of 143, 130, 129, 1, 6, 5, 3, 2, 4 that is among them, else ok: a wrong result
// must not hide behind a slow one.
ExitCode worst(std::span<const ExitCode> codes);

// Returns the code of a fault. A device that failed while others finished its work counts under
// `strict` only; a wrong result always counts.
ExitCode fault_code(const Fault& fault, bool strict);

// Returns the code of a report's rows. `strict`: a skipped case counts as failed, and so does a
// device failure that the run survived.
ExitCode outcome(const Report& report, bool strict);

// Returns the code of a comparison's rows: 3 for a regression, 2 if all have too few samples for a
// verdict, 4 if one is slower without a verdict.
ExitCode outcome(const Comparison& comparison);

}  // namespace mgpu
