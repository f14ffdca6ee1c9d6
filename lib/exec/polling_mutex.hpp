// A mutex that is held for microseconds by threads that poll anyway: a thread that finds it taken
// tries again instead of sleeping, as waking up takes 10 us and more. Meets Lockable of the
// standard library.
#pragma once

#include <atomic>
#include <thread>

namespace mgpu {

class PollingMutex {
 public:
  void lock() {
    while (!try_lock()) std::this_thread::yield();
  }
  bool try_lock() {
    return !taken_.load(std::memory_order_relaxed) &&
           !taken_.exchange(true, std::memory_order_acquire);
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

}  // namespace mgpu
