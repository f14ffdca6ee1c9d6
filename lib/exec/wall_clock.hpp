// The calendar's time, for names and records; durations are measured by Backend::now().
#pragma once

#include <chrono>

namespace mgpu {

// Now, in UTC and whole seconds.
std::chrono::sys_seconds wall_clock_now();

}  // namespace mgpu
