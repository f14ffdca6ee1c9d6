// How long anything may keep the tool waiting, and the one loop in which it waits for a device.
// Nobody waits inside a driver: calls that block there are in lib/exec/driver_call.hpp.
#pragma once

#include <functional>
#include <string_view>

#include "lib/base/units.hpp"

namespace mgpu {

class Backend;
class OpenDevice;
struct BatchId;

// Asked every 10 ms by whoever waits, on its thread. True: nobody wants the answer any more
// (Ctrl-C).
using StopCheck = std::function<bool()>;

// Five years: longer than anybody waits, and within what a simulated clock may run for
// (QueueModel::advance).
inline constexpr Nanos kNoLimit = std::chrono::hours(24 * 365 * 5);

// When a device counts as hung. Each is the limit of one wait, not of a sum.
struct WaitLimits {
  Nanos answer = std::chrono::seconds(60);  // commands are under way, and none of them completes
  // The driver opens a device, builds for it or pins memory. Some drivers compile a kernel when it
  // is launched for the first time: that wait has this and `answer`.
  Nanos build = std::chrono::seconds(300);
  StopCheck stop = {};  // ends every wait
};

// gently: waits until the device notifies, or 50 us if it does not. closely: looks without a pause,
// where microseconds count.
enum class Look { gently, closely };

// Until `done`, which is asked again and again. `rest` is called between two looks where time is
// real; a virtual clock is moved on instead, never past the limit. Throws Error(timeout) "WHO did
// not answer for 60 s", Error(interrupted), and what `done` throws.
void wait_until(Backend& backend, std::string_view who, Nanos limit, const StopCheck& stop,
                const std::function<bool()>& done, const std::function<void()>& rest);

// Until the batch is complete. After any error the device is abandoned: what it may still use has
// to be drained or leaked (try_drain, lib/exec/leak.hpp). Throws as wait_until and
// OpenDevice::complete. Without `limits`: those of the backend.
void wait_for(Backend& backend, OpenDevice& device, BatchId batch, const WaitLimits& limits,
              Look look = Look::gently);
void wait_for(Backend& backend, OpenDevice& device, BatchId batch, Look look = Look::gently);

// After any error: waits until all that the device was ever given has ended, a tenth of the time it
// has for an answer and a second at most. True: what its commands used may be freed, and it may be
// used again unless its errors go on. False, as where a thread was left inside one of its calls:
// all that has to be leaked. Throws nothing.
bool try_drain(Backend& backend, OpenDevice& device) noexcept;

// wait_for, after which the batch's commands are forgotten.
void finish_batch(Backend& backend, OpenDevice& device, BatchId batch, const WaitLimits& limits);
void finish_batch(Backend& backend, OpenDevice& device, BatchId batch);
// Submits what was enqueued, waits for it likewise, and calls `completion`.
void complete(Backend& backend, OpenDevice& device, const std::function<void()>& completion);

// Submits what was enqueued, waits for it and returns how long its kernels took. Throws as
// wait_for.
Nanos finish_trial(Backend& backend, OpenDevice& device);

// Puts limits in force, for as long as it lives; those that were are back afterwards.
class LimitsInForce {
 public:
  LimitsInForce(Backend& backend, WaitLimits limits);
  ~LimitsInForce();
  LimitsInForce(const LimitsInForce&) = delete;
  LimitsInForce& operator=(const LimitsInForce&) = delete;

 private:
  Backend& backend_;
  WaitLimits before_;
};

}  // namespace mgpu
