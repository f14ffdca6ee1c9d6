// The units every layer speaks. Time is a chrono type; counts are plain 64-bit integers named for
// what they count.
#pragma once

#include <chrono>
#include <cstdint>

namespace mgpu {

using Nanos = std::chrono::nanoseconds;
using Bytes = std::uint64_t;
using Items = std::uint64_t;  // the unit a suite splits: see lib/workload/workload.hpp

constexpr std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}
constexpr std::uint64_t round_up(std::uint64_t a, std::uint64_t b) { return ceil_div(a, b) * b; }

// Seconds as a double, for rates and for printing; the only conversion out of Nanos.
constexpr double seconds(Nanos t) { return std::chrono::duration<double>(t).count(); }

// The nearest whole nanosecond; out-of-range values saturate, so that an infinite prediction stays
// ordered.
constexpr Nanos from_seconds(double s) {
  constexpr double limit =
      9.0e9;  // about 285 years in seconds, below what int64 nanoseconds can hold
  if (!(s < limit)) return Nanos{static_cast<std::int64_t>(limit * 1e9)};
  if (s < -limit) return Nanos{-static_cast<std::int64_t>(limit * 1e9)};
  return Nanos{static_cast<std::int64_t>(s * 1e9 + (s >= 0 ? 0.5 : -0.5))};
}

}  // namespace mgpu
