// The units of every layer. Time is a chrono type; counts are plain 64-bit integers named for what
// they count.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace mgpu {

using Nanos = std::chrono::nanoseconds;
using Bytes = std::uint64_t;
using Items = std::uint64_t;  // the unit a suite splits: see lib/workload/workload.hpp

constexpr std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}
constexpr std::uint64_t round_up(std::uint64_t a, std::uint64_t b) { return ceil_div(a, b) * b; }

// Returns seconds as a double, for rates and for printing: the only conversion out of Nanos.
constexpr double seconds(Nanos t) { return std::chrono::duration<double>(t).count(); }

// Returns the nearest whole nanosecond. Out-of-range values saturate, so that an infinite
// prediction stays ordered.
constexpr Nanos from_seconds(double s) {
  // About 285 years in seconds, below what int64 nanoseconds can hold.
  constexpr double limit = 9.0e9;
  if (!(s < limit)) return Nanos{static_cast<std::int64_t>(limit * 1e9)};
  if (s < -limit) return Nanos{-static_cast<std::int64_t>(limit * 1e9)};
  return Nanos{static_cast<std::int64_t>(s * 1e9 + (s >= 0 ? 0.5 : -0.5))};
}

// A strong integer id, so that a position in a device set cannot be passed as a count.

// Position of a device among those that share a sample: 0 .. n-1. Plans, the executor, samples and
// timelines use it (the fake backend: position among its devices). Positions in the session's list
// of devices, of which a case takes some, are plain numbers.
struct DeviceIndex {
  std::uint32_t value = 0;
  constexpr auto operator<=>(const DeviceIndex&) const = default;
};

// Saturating arithmetic, for time stamps and extents from untrusted sources.

constexpr Nanos saturating_add(Nanos a, Nanos b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a.count(), b.count(), &sum)) return Nanos{sum};
  return b < Nanos{} ? Nanos::min() : Nanos::max();
}

constexpr Nanos saturating_subtract(Nanos a, Nanos b) {
  std::int64_t difference = 0;
  if (!__builtin_sub_overflow(a.count(), b.count(), &difference)) return Nanos{difference};
  return b > Nanos{} ? Nanos::min() : Nanos::max();
}

constexpr std::uint64_t saturating_multiply(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

}  // namespace mgpu
