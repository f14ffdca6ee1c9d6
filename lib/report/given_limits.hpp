// Limits of devices and work in a scenario or in the estimates of a result: finite, and so far from
// the overflow of 64-bit times that values computed from them do not overflow either. Internal to
// lib/report.
#pragma once

#include <cstdint>

#include "lib/base/units.hpp"

namespace mgpu {

// The limit of lib/plan/ledger.hpp; for bytes too.
inline constexpr Items kMostGivenItems = Items{1} << 62;
// 1,000 s for anything paid once, or once per slice.
inline constexpr std::int64_t kMostGivenTime = 1'000'000'000'000;
inline constexpr double kMostGivenRate = 1e18;   // items/s, bytes/s, operations per item
inline constexpr double kMostGivenBytes = 1e15;  // per item

}  // namespace mgpu
