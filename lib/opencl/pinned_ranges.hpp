// Ranges of host memory that are pinned at the moment, by any device. Thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <vector>

namespace mgpu {

inline bool contains(std::span<const std::byte> range, std::span<const std::byte> memory) {
  const std::less_equal<const std::byte*> up_to;  // also orders pointers into different objects
  return up_to(range.data(), memory.data()) &&
         up_to(memory.data() + memory.size(), range.data() + range.size());
}

class PinnedRanges {
 public:
  void add(std::span<const std::byte> range) {
    const std::scoped_lock lock(mutex_);
    ranges_.push_back(range);
  }
  // Removes a range that was added, once.
  void remove(std::span<const std::byte> range) {
    const std::scoped_lock lock(mutex_);
    const auto same = [&](const auto& r) {
      return r.data() == range.data() && r.size() == range.size();
    };
    if (const auto at = std::find_if(ranges_.begin(), ranges_.end(), same); at != ranges_.end())
      ranges_.erase(at);
  }
  // Returns whether one of the ranges contains all of `memory`.
  bool hold(std::span<const std::byte> memory) const {
    const std::shared_lock lock(mutex_);
    return std::any_of(ranges_.begin(), ranges_.end(),
                       [&](const auto& range) { return contains(range, memory); });
  }

 private:
  mutable std::shared_mutex mutex_;
  std::vector<std::span<const std::byte>> ranges_;
};

}  // namespace mgpu
