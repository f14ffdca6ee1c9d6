// The time of day, for records, which may jump, and a clock for durations.
#pragma once

#include <string>

#include "lib/base/units.hpp"

namespace mgpu {

// Returns the UTC time in RFC 3339 format, to the second: "2026-11-23T16:35:23Z".
std::string utc_now();
// Returns the time of a clock that does not jump, to measure how long something took.
Nanos steady_now();

}  // namespace mgpu
