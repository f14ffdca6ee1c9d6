// What several devices do from a common start, again and again, and how long that takes by the
// host's clock. In real time a thread per device enqueues its part and waits for it, as a worker
// does in a sample; on a virtual clock one thread does it for all.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "lib/exec/backend.hpp"
#include "lib/workload/first_error.hpp"

namespace mgpu {

// Enqueued together where the time of one of many is measured, as in nccl-tests.
inline constexpr std::uint64_t kQueuedCalls = 20;

struct Repetitions {
  unsigned warmup = 5, least = 5, most = 20;
  Nanos budget = std::chrono::milliseconds(
      100);  // no more are begun after it, but for `least`; a warm-up ends with a half of it
};

struct HostInterval {
  Nanos begin{}, end{};  // from the call until the device's part is known to be complete
};
using TogetherSample =
    std::vector<HostInterval>;  // by device, in the order of those that took part

// From the first begin to the last end.
Nanos whole_time(const TogetherSample& sample);
std::vector<Nanos> whole_times(std::span<const TogetherSample> samples);

class Together {
 public:
  // `group`: of all of `devices`, by position; null where they exchange nothing. Both must outlive
  // this.
  Together(Backend& backend, std::span<OpenDevice* const> devices, PeerGroup* group)
      : backend_(backend), devices_(devices), group_(group) {}

  // `enqueue` is called for each of `who`, on its thread. Nobody begins before all have ended the
  // time before. After the last repetition the group is asked whether all signals came. Throws
  // Error(timeout) naming the device that did not complete, or, where it waited for another one,
  // that one too; Error(device), Error(interrupted). The devices are then abandoned, and the group
  // is of no use any more. A thread whose driver does not return from a call is left inside:
  // OpenDevice then says so, and what `enqueue` refers to must be left behind as well.
  std::vector<TogetherSample> measure(std::span<const DeviceIndex> who,
                                      const Repetitions& repetitions,
                                      const std::function<void(DeviceIndex)>& enqueue);
  // Once, unmeasured.
  void once(std::span<const DeviceIndex> who, const std::function<void(DeviceIndex)>& enqueue);

 private:
  class Series;
  class Meeting;
  class Crew;
  std::vector<TogetherSample> on_threads(std::span<const DeviceIndex> who,
                                         const Repetitions& repetitions,
                                         const std::function<void(DeviceIndex)>& enqueue);
  void serve(Crew& crew, std::size_t index);
  void leave_inside(Crew& crew, std::size_t index);
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
