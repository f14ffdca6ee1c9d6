// Sums that stay at the end of the range where they would leave it: for time stamps that nobody
// vouches for.
#pragma once

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

}  // namespace mgpu
