// Holds: stretches of time in which a handicapped device's compute queue stands still. A hold is a
// barrier that waits for a user event, which the host sets when the time has come; what is enqueued
// behind it waits, other queues go on. Seen to work with PoCL 3.1 and NVIDIA 580.159.04, where the
// queue goes on 8 to 17 us after the event is set.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "lib/base/units.hpp"
#include "lib/exec/slow_down.hpp"
#include "lib/opencl/cl_common.hpp"

namespace mgpu {

// Event clock -> steady clock, near enough to hold a device for as long as it was meant to: what a
// poll saw complete had ended by then, and the least distance seen is the offset. Clocks drift: 8.5
// us per second on an H200, allowed for are 20.
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

class ClHolds {
 public:
  ClHolds() = default;
  ClHolds(const ClHolds&) = delete;
  ClHolds& operator=(const ClHolds&) = delete;
  ~ClHolds() { release_all(); }

  // Stops `queue` behind what is in it, until `delay` after `since`, its last command (a kernel or
  // a bare marker, which all drivers stamp), and as much longer as `slow_down` then asks of
  // `kernels`. Returns the event that ends with the hold. Throws cl::Error.
  cl::Event add(const cl::Context& context, const cl::CommandQueue& queue, cl::Event since,
                std::vector<cl::Event> kernels, Nanos delay);
  // Releases a hold that is due; true if it did. To be called whenever the device is asked for
  // anything: nobody else does. Throws cl::Error.
  bool poll(const SlowDown& slow_down);
  // When the first hold shall be released, as far as that is known.
  std::optional<Nanos> due() const {
    return holds_.empty() ? std::nullopt : holds_.front().release_at;
  }
  bool release_all() noexcept;  // true: something was held, and goes on now

 private:
  struct Hold {
    cl::UserEvent gate;
    cl::Event since;
    std::vector<cl::Event> kernels;
    Nanos delay{};
    std::optional<Nanos> release_at;  // none: `since` is not over
  };
  Nanos release_time(const Hold& hold, Nanos now, const SlowDown& slow_down);

  std::deque<Hold> holds_;  // of one in-order queue: only the first can be due
  ClSeenClock clock_;
};

}  // namespace mgpu
