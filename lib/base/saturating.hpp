// Sums and products that stay at the end of the range where they would leave it: for time stamps
// and extents that nobody vouches for.
#pragma once

#include <cstdint>

#include "lib/base/units.hpp"

namespace mgpu {

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
