#include "lib/exec/wall_clock.hpp"

namespace mgpu {

std::chrono::sys_seconds wall_clock_now() { return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()); }

}  // namespace mgpu
