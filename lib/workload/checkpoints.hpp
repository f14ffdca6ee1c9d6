// Which checkpoints of a sample that goes in rounds are complete. Two of them have a place in host
// memory, by turns: one is complete while the next one comes in.
#pragma once

#include <cstdint>
#include <mutex>

#include "lib/plan/slice_source.hpp"

namespace mgpu {

// Of a sample of so many items, one after every `every` rounds; 0: none. From several threads at
// once.
class Checkpoints {
 public:
  Checkpoints(Items items, std::uint32_t every) : items_(items), every_(every) {}

  void begin_sample();
  std::uint32_t complete()
      const;  // rounds of the last complete one; 0: none, there is only the initial state
  void forget_incomplete();  // the sample begins again from complete()
  unsigned place(std::uint32_t rounds) const { return every_ == 0 ? 0 : rounds / every_ % 2; }
  // Has the one before been completed? Until then the place of this one holds what a sample would
  // begin again from.
  bool may_take(std::uint32_t rounds) const;
  void arrived(const Slice& items,
               std::uint32_t rounds);  // of the one after so many rounds, these are on the host

 private:
  const Items items_;
  const std::uint32_t every_;
  mutable std::mutex mutex_;
  std::uint32_t complete_ = 0;
  Items next_ = 0;  // items that have arrived of the one after `complete_`
};

}  // namespace mgpu
