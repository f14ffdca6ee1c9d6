// The time of day, for records. It may jump: durations are measured by steady clocks.
#pragma once

#include <string>

namespace mgpu {

// Returns the UTC time in RFC 3339 format, to the second: "2026-11-23T16:35:23Z".
std::string utc_now();

}  // namespace mgpu
