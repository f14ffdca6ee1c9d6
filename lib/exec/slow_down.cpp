#include "lib/exec/slow_down.hpp"

#include <algorithm>
#include <cmath>

namespace mgpu {

SlowDown::SlowDown(const Handicap& handicap) : handicap_(handicap) { end_sample(); }

void SlowDown::begin_sample(Nanos begin) {
  in_sample_ = true;
  if (handicap_.slows() && handicap_.slow_from_time) from_ = begin + *handicap_.slow_from_time;
}

void SlowDown::reached(double share, Nanos now) {
  if (waits_for_share() && share >= handicap_.slow_from_fraction) from_ = now;
}

void SlowDown::end_sample() {
  in_sample_ = false;
  from_.reset();
  if (handicap_.slows_always()) from_ = Nanos::min();
}

Nanos SlowDown::extra(Nanos started, Nanos ended) const {
  if (!from_) return {};
  const Nanos slowed = ended - std::max(started, *from_);
  if (slowed <= Nanos{}) return {};
  return Nanos{std::llround((handicap_.slow - 1) * static_cast<double>(slowed.count()))};
}

}  // namespace mgpu
