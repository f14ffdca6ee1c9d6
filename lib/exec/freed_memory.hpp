// The memory that buffers of a device take, and the memory of freed buffers that is kept for later
// ones (--memory-pool): an allocation takes drivers up to milliseconds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "lib/base/units.hpp"

namespace mgpu {

// Use of a device's memory over a period.
struct MemoryPeak {
  Bytes bytes = 0;            // most that buffers and kept memory took together
  std::uint64_t reused = 0;   // buffers that were given kept memory
  std::uint64_t evicted = 0;  // pieces of kept memory that were freed to make room
};

// Accounts for the buffers of a device and keeps the memory of freed ones, if that is turned on.
// `Memory`: an owning handle. Used by one thread at a time.
template <class Memory>
class FreedMemory {
 public:
  void keep(bool keeps) { keeps_ = keeps; }
  Bytes in_use() const { return in_use_; }
  Bytes kept() const { return kept_; }

  // Accounts for a new buffer and for one that is freed.
  void add(Bytes size) {
    in_use_ += size;
    note_peak();
  }
  void remove(Bytes size) { in_use_ -= size; }

  // Returns kept memory of exactly that size, if there is some.
  std::optional<Memory> take(Bytes size) {
    const auto found = std::find_if(pieces_.begin(), pieces_.end(),
                                    [&](const Piece& piece) { return piece.size == size; });
    if (found == pieces_.end()) return std::nullopt;
    Memory memory = std::move(found->memory);
    pieces_.erase(found);
    kept_ -= size;
    ++peak_.reused;
    return memory;
  }
  // Keeps the memory of a freed buffer. Returns it if nothing is kept.
  std::optional<Memory> put(Memory memory, Bytes size) {
    if (!keeps_) return memory;
    pieces_.push_back({std::move(memory), size});
    kept_ += size;
    note_peak();
    return std::nullopt;
  }
  // Gives up the memory kept longest until at most `most` bytes are kept. The caller frees it.
  std::vector<Memory> evict_to(Bytes most) {
    std::vector<Memory> evicted;
    while (kept_ > most) {
      kept_ -= pieces_.front().size;
      evicted.push_back(std::move(pieces_.front().memory));
      pieces_.pop_front();
    }
    peak_.evicted += evicted.size();
    return evicted;
  }
  // Returns the use since the last call; the next period begins with what is allocated now.
  MemoryPeak take_peak() {
    const MemoryPeak since = std::exchange(peak_, {});
    note_peak();
    return since;
  }

 private:
  struct Piece {
    Memory memory;
    Bytes size = 0;
  };
  void note_peak() { peak_.bytes = std::max(peak_.bytes, in_use_ + kept_); }

  bool keeps_ = false;
  Bytes in_use_ = 0, kept_ = 0;
  std::deque<Piece> pieces_;  // the one kept longest comes first
  MemoryPeak peak_;
};

}  // namespace mgpu
