// Limits of what devices and work may be given as, in a scenario or as the estimates of a result:
// finite, and so far from where times of 64 bits overflow that whatever is worked out from them
// does not either. Internal to lib/report.
#pragma once

#include <cstdint>

#include "lib/base/units.hpp"

namespace mgpu {

inline constexpr Items kMostGivenItems = Items{1}
                                         << 62;  // as lib/plan/ledger.hpp has it; bytes too
inline constexpr std::int64_t kMostGivenTime =
    1'000'000'000'000;                           // 1,000 s of anything paid once, or once a slice
inline constexpr double kMostGivenRate = 1e18;   // items/s, bytes/s, operations an item
inline constexpr double kMostGivenBytes = 1e15;  // an item

}  // namespace mgpu
