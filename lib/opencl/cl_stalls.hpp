// Stalls: stretches of time in which the compute queue of a handicapped device stands still. A
// stall is a barrier that waits for a user event, which the host sets when the time has come. What
// is enqueued behind it waits; other queues go on. It was seen to work with PoCL 3.1 and NVIDIA
// 580.159.04, where the queue goes on 8 to 17 us after the event is set.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "lib/base/units.hpp"
#include "lib/exec/slow_down.hpp"
#include "lib/opencl/cl_common.hpp"

namespace mgpu {

// Maps the event clock to the steady clock, exactly enough to time a stall. A command that a poll
// saw complete had ended by then, and the least distance seen is the offset. Clocks drift: by 8.5
// us per second on an H200; 20 are allowed for.
class ClSeenClock {
 public:
  void saw(Nanos now, std::uint64_t ended);
  Nanos to_host(std::uint64_t device_ns) const {
    return Nanos{static_cast<std::int64_t>(device_ns) + offset_};
  }

 private:
  bool known_ = false;
  std::int64_t offset_ = 0;
  Nanos at_{};
};

class ClStalls {
 public:
  ClStalls() = default;
  ClStalls(const ClStalls&) = delete;
  ClStalls& operator=(const ClStalls&) = delete;
  ~ClStalls() { release_all(); }

  // Stops `queue` behind the commands in it, until `delay` after the end of `since`, its last
  // command (a kernel or a bare marker, which all drivers stamp), and for as much longer as
  // `slow_down` then asks of `kernels`. Returns the event that ends with the stall. Throws
  // cl::Error.
  cl::Event add(const cl::Context& context, const cl::CommandQueue& queue, cl::Event since,
                std::vector<cl::Event> kernels, Nanos delay);
  // Releases a stall that is due; returns true if it did. Must be called whenever the device is
  // asked for anything, as nothing else releases stalls. Throws cl::Error.
  bool poll(const SlowDown& slow_down);
  // Returns when the first stall is due, as far as that is known.
  std::optional<Nanos> due() const {
    return stalls_.empty() ? std::nullopt : stalls_.front().release_at;
  }
  bool release_all() noexcept;  // true: a stall was released

 private:
  struct Stall {
    cl::UserEvent gate;
    cl::Event since;
    std::vector<cl::Event> kernels;
    Nanos delay{};
    std::optional<Nanos> release_at;  // none: `since` has not ended
  };
  Nanos release_time(const Stall& stall, Nanos now, const SlowDown& slow_down);

  std::deque<Stall> stalls_;  // all in one in-order queue: only the first can be due
  ClSeenClock clock_;
};

}  // namespace mgpu
