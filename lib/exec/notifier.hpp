// Wakes the thread that drives a device: notified where a command of the device has completed, or
// another worker has changed what there is to do. A CPU device needs its cores for kernels, and to
// wake and look takes about 10 us of one.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "lib/base/units.hpp"

namespace mgpu {

class Notifier {
 public:
  // Whoever waits looks now and then all the same: a device that hangs does not notify.
  static constexpr Nanos kLongest = std::chrono::milliseconds(10);

  // How often notify() was called. To be read before looking for work, so that nothing which comes
  // while one looks is missed.
  std::uint64_t epoch() {
    const std::lock_guard lock(mutex_);
    return epoch_;
  }
  // From any thread.
  void notify() {
    {
      const std::lock_guard lock(mutex_);
      ++epoch_;
    }
    notified_.notify_all();
  }
  // Sleeps until notify() has been called more than `epoch` times, for `at_most` so long.
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
