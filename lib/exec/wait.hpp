// Limits of all waits, and the one loop in which the tool waits for a device. That loop never
// blocks inside a driver: calls that block there are in lib/exec/driver_call.hpp.
#pragma once

#include <functional>
#include <string_view>

#include "lib/base/units.hpp"

namespace mgpu {

class Backend;
class OpenDevice;
struct BatchId;

// Called every 10 ms by the waiting thread; true ends the wait (Ctrl-C).
using StopCheck = std::function<bool()>;

// No limit: five years, longer than any wait, and within the range of a simulated clock
// (QueueModel::advance).
inline constexpr Nanos kNoLimit = std::chrono::hours(24 * 365 * 5);

// Limits after which a device counts as hung. Each applies to one wait, not to a sum.
struct WaitLimits {
  // Time in which commands are under way and none of them completes.
  Nanos answer = std::chrono::seconds(60);
  // Time in which the driver opens a device, builds for it or pins memory. Some drivers compile a
  // kernel at its first launch: the limit of that wait is this plus `answer`.
  Nanos build = std::chrono::seconds(300);
  StopCheck stop = {};  // ends every wait
};

// How to wait: `gently` sleeps until the device notifies, or 50 us if it does not; `closely` spins,
// where microseconds count.
enum class WaitPolicy { sleep, spin };

// Waits until `done` returns true. Calls `rest` between two checks in real time; moves a virtual
// clock on instead, never past the limit. Throws Error(timeout) "WHO did not answer for 60 s",
// Error(interrupted), and what `done` throws.
void wait_until(Backend& backend, std::string_view who, Nanos limit, const StopCheck& stop,
                const std::function<bool()>& done, const std::function<void()>& rest);

// Waits until the batch is complete. After any error the device is abandoned: what it may still use
// has to be drained or leaked (try_drain, lib/exec/leak.hpp). Throws as wait_until and
// OpenDevice::complete. Without `limits`, those of the backend apply.
void wait_for(Backend& backend, OpenDevice& device, BatchId batch, const WaitLimits& limits,
              WaitPolicy look = WaitPolicy::sleep);
void wait_for(Backend& backend, OpenDevice& device, BatchId batch,
              WaitPolicy look = WaitPolicy::sleep);

// Waits, after any error, until all commands that the device was ever given have ended, for a tenth
// of its answer limit and at most a second. True: what its commands used may be freed, and the
// device may be used again unless its errors continue. False, also if a thread was left inside one
// of its calls: all that has to be leaked. Throws nothing.
bool try_drain(Backend& backend, OpenDevice& device) noexcept;

// Waits as wait_for, then discards the batch's commands.
void finish_batch(Backend& backend, OpenDevice& device, BatchId batch, const WaitLimits& limits);
void finish_batch(Backend& backend, OpenDevice& device, BatchId batch);
// Submits all enqueued commands, waits for them as finish_batch, and calls `completion`.
void complete(Backend& backend, OpenDevice& device, const std::function<void()>& completion);

// Submits all enqueued commands, waits for them and returns how long their kernels took. Throws as
// wait_for.
Nanos finish_trial(Backend& backend, OpenDevice& device);

// Applies limits during its lifetime; its destructor restores the previous ones.
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
