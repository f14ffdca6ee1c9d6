// Wakes the thread that drives a device when a command of the device has completed or another
// worker has changed what there is to do. A CPU device needs its cores for kernels, and each poll
// takes about 10 us of one.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "lib/base/units.hpp"

namespace mgpu {

class Notifier {
 public:
  // Longest sleep without a notification: a device that hangs does not notify.
  static constexpr Nanos kLongest = std::chrono::milliseconds(10);

  // Returns how often notify() was called. Must be read before looking for work, so that a
  // notification during the search is not missed.
  std::uint64_t epoch() {
    const std::lock_guard lock(mutex_);
    return epoch_;
  }
  // Wakes the waiting thread; can be called from any thread.
  void notify() {
    {
      const std::lock_guard lock(mutex_);
      ++epoch_;
    }
    notified_.notify_all();
  }
  // Sleeps until notify() has been called more than `epoch` times, at most for `at_most`.
  void wait(std::uint64_t epoch, Nanos at_most) {
    std::unique_lock lock(mutex_);
    notified_.wait_for(lock, at_most, [&] { return epoch_ != epoch; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable notified_;
  std::uint64_t epoch_ = 0;
};

}  // namespace mgpu
