#include "lib/workload/checkpoints.hpp"

namespace mgpu {

void Checkpoints::begin_sample() {
  const std::lock_guard lock(mutex_);
  complete_ = 0;
  next_ = 0;
}

std::uint32_t Checkpoints::complete() const {
  const std::lock_guard lock(mutex_);
  return complete_;
}

void Checkpoints::forget_incomplete() {
  const std::lock_guard lock(mutex_);
  next_ = 0;
}

bool Checkpoints::may_take(std::uint32_t rounds) const {
  const std::lock_guard lock(mutex_);
  return rounds <= complete_ + every_;
}

void Checkpoints::arrived(const Slice& items, std::uint32_t rounds) {
  const std::lock_guard lock(mutex_);
  next_ += items.size();
  if (next_ < items_) return;
  complete_ = rounds;
  next_ = 0;
}

}  // namespace mgpu
