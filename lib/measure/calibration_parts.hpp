// What both calibrations are made of, of a device alone and of devices together: memory, how long
// tries go on.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "lib/exec/backend.hpp"
#include "lib/exec/leak.hpp"
#include "lib/workload/pages.hpp"

namespace mgpu {

// Tries go on for this long, and are never fewer. Cores are shared with other processes, and longer
// with them.
inline constexpr Nanos kSampled = std::chrono::milliseconds(20),
                       kSampledCpu = std::chrono::milliseconds(120);
inline constexpr unsigned kLeastTries = 5;

// Of a transfer: 1.2 ms at 55 GB/s, 10 us of which are latency. On CPUs 6 ms at 5 GB/s, not much
// more than a time slice.
Bytes transfer_piece(const DeviceTraits& traits);

// What commands may be using: freed by clear() or at the end, unless it is leaked, as the device
// does not answer any more.
class Holdings {
 public:
  Holdings() = default;
  Holdings(const Holdings&) = delete;
  Holdings& operator=(const Holdings&) = delete;
  template <class T>
  T& add(std::unique_ptr<T> object) {
    T& held = *object;
    held_.push_back(std::shared_ptr<T>(std::move(object)));
    return held;
  }
  void clear() { held_.clear(); }
  void leak() { mgpu::leak(std::move(held_)); }

 private:
  std::vector<std::shared_ptr<void>> held_;
};

// Memory for transfers, written as workloads write theirs, by all threads of the host: where there
// are several memories, each thread gets pages of its own. Pinned for `devices` when asked for,
// where that is of use.
class HostMemory {
 public:
  // Throws Error(out_of_memory).
  HostMemory(Backend& backend, Bytes size, std::span<OpenDevice* const> devices, bool pinned);
  bool pinned() const { return pin_ != nullptr; }
  std::span<std::byte> bytes() { return bytes_; }

 private:
  Pages pages_;
  std::span<std::byte> bytes_;
  std::unique_ptr<PinnedMemory> pin_;  // after what it pins: undone first
};

}  // namespace mgpu
