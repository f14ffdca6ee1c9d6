// Parts that the calibrations of one device and of several share: memory, and how long tries go on.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "lib/exec/backend.hpp"
#include "lib/exec/leak.hpp"
#include "lib/workload/pages.hpp"

namespace mgpu {

// Tries go on for this long, and there are at least kLeastTries. Longer on CPUs, whose cores are
// shared with other processes.
inline constexpr Nanos kSampled = std::chrono::milliseconds(20),
                       kSampledCpu = std::chrono::milliseconds(120);
inline constexpr unsigned kLeastTries = 5;

// Returns the size of a transfer. On GPUs it takes 1.2 ms at 55 GB/s, of which 10 us are latency;
// on CPUs 6 ms at 5 GB/s, not much more than a time slice.
Bytes transfer_piece(const DeviceTraits& traits);

// Objects that commands may be using. Freed by clear() or at the end, unless they are leaked
// because the device does not respond any more.
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

// Memory for transfers, written like that of workloads, by all threads of the host: if there are
// several NUMA nodes, each thread gets pages of its own. Pinned for `devices` if requested and of
// use.
class HostMemory {
 public:
  // Throws Error(out_of_memory).
  HostMemory(Backend& backend, Bytes size, std::span<OpenDevice* const> devices, bool pinned);
  bool pinned() const { return pin_ != nullptr; }
  std::span<std::byte> bytes() { return bytes_; }

 private:
  Pages pages_;
  std::span<std::byte> bytes_;
  // Declared after the pages it pins, so that it is destroyed first.
  std::unique_ptr<PinnedMemory> pin_;
};

}  // namespace mgpu
