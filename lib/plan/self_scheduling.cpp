// Implements the chunk rules.
#include "lib/plan/self_scheduling.hpp"

#include <algorithm>
#include <cmath>

namespace mgpu {

double ceil_of(double x) {
  const double below = std::floor(x);
  return x - below <= std::min(0.1, 0.005 * x) ? below : std::ceil(x);
}

ChunkSizes::ChunkSizes(ChunkRule rule, double k, Items left, std::size_t devices, Items least)
    : rule_(rule), k_(k), last_(least) {
  restart(left, devices);
}

void ChunkSizes::restart(Items left, std::size_t devices) {
  devices_ = std::max<std::size_t>(devices, 1);
  if (rule_ == ChunkRule::trapezoid) {
    const double n = static_cast<double>(left), last = static_cast<double>(last_);
    current_ = std::max(ceil_of(n / (k_ * static_cast<double>(devices_))), last);
    const double steps = ceil_of(2 * n / (current_ + last));
    step_ = steps > 1 ? (current_ - last) / (steps - 1) : 0;
  } else {
    begin_batch(left);
  }
}

void ChunkSizes::begin_batch(Items left) {
  batch_left_ = devices_;
  current_ = ceil_of(static_cast<double>(left) / (k_ * static_cast<double>(devices_)));
}

Items ChunkSizes::next(Items left, double share, Items least) const {
  double size = current_;
  if (rule_ == ChunkRule::hguided) size = ceil_of(static_cast<double>(left) * share / k_);
  if (rule_ == ChunkRule::weighted_factoring)
    size = ceil_of(current_ * share * static_cast<double>(devices_));
  return std::min(left, std::max(static_cast<Items>(std::max(size * (1 + 1e-12), 1.0)), least));
}

void ChunkSizes::taken(Items left) {
  if (rule_ == ChunkRule::trapezoid) {
    current_ = std::max(current_ - step_, static_cast<double>(last_));
  } else if (rule_ != ChunkRule::hguided && --batch_left_ == 0) {
    begin_batch(left);
  }
}

}  // namespace mgpu
