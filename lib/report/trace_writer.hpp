// Chrome trace-event JSON of a report: opens in Perfetto, chrome://tracing and Tracy. One process
// per device with a thread per queue, one process for the run (strategies, samples, merge).
#pragma once

#include <string>

#include "lib/report/record.hpp"

namespace mgpu {

// Cases follow one another on the time axis, zero-based microseconds with fractions: of each the
// sample shown, then those that a fault disturbed, in a process of their own. Faults are instants
// on their device's worker. Clock method, offset, drift and uncertainty of each device are in
// "metadata".
std::string to_chrome_trace(const Report& report);

}  // namespace mgpu
