// Runs a part per device from a common start, repeatedly, and measures by the host's clock. In real
// time one thread per device enqueues its part and waits for it, as a worker does in a sample; on a
// virtual clock one thread does it for all.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "lib/exec/backend.hpp"
#include "lib/workload/first_error.hpp"

namespace mgpu {

// Calls that are enqueued together to measure the time of one of many; 20, as in nccl-tests, would
// include a tenth of the time until the last is known to be complete.
inline constexpr std::uint64_t kQueuedCalls = 100;

struct Repetitions {
  unsigned warmup = 5, least = 5, most = 20;
  // No repetition begins after this time, except to reach `least`; the warm-up ends after half of
  // it.
  Nanos budget = std::chrono::milliseconds(100);
};

struct HostInterval {
  Nanos begin{}, end{};  // from the call until the device's part is known to be complete
};
// Intervals of the participating devices, in their order.
using TogetherSample = std::vector<HostInterval>;

// Return the time from the first begin to the last end.
Nanos whole_time(const TogetherSample& sample);
std::vector<Nanos> whole_times(std::span<const TogetherSample> samples);

// Measures parts that devices begin together.
class Together {
 public:
  // `group`: the peer group of all of `devices`, by position; null if they exchange nothing.
  // `devices` and `group` must outlive this object.
  Together(Backend& backend, std::span<OpenDevice* const> devices, PeerGroup* group)
      : backend_(backend), devices_(devices), group_(group) {}

  // Calls `enqueue` for each of `who`, on its thread. No device begins before all have finished the
  // previous repetition. After the last repetition the group checks that all signals arrived.
  // Throws Error(timeout) that names the device that did not complete and, if it waited for another
  // one, that one too; Error(device), Error(interrupted). The devices are then abandoned, and the
  // group is unusable. A thread whose driver does not return from a call is left inside it:
  // OpenDevice then says so, and everything `enqueue` refers to must be leaked as well.
  std::vector<TogetherSample> measure(std::span<const DeviceIndex> who,
                                      const Repetitions& repetitions,
                                      const std::function<void(DeviceIndex)>& enqueue);
  // Runs `enqueue` once, unmeasured.
  void once(std::span<const DeviceIndex> who, const std::function<void(DeviceIndex)>& enqueue);

 private:
  class Series;
  class Barrier;
  class ThreadPool;
  std::vector<TogetherSample> on_threads(std::span<const DeviceIndex> who,
                                         const Repetitions& repetitions,
                                         const std::function<void(DeviceIndex)>& enqueue);
  void serve(ThreadPool& thread_pool, std::size_t index);
  void leave_inside(ThreadPool& thread_pool, std::size_t index);
  std::vector<TogetherSample> on_one_thread(std::span<const DeviceIndex> who,
                                            const Repetitions& repetitions,
                                            const std::function<void(DeviceIndex)>& enqueue);
  struct Blame {
    Error error;
    DeviceIndex whom;
  };
  Blame blame_for(DeviceIndex device, const Error& error);
  void keep(const Blame& blame, FirstError& first);

  Backend& backend_;
  std::span<OpenDevice* const> devices_;
  PeerGroup* group_;
};

}  // namespace mgpu
