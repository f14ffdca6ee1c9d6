// The interface to hardware: OpenCL and the fake backend implement it, the executor drives it.
// Asynchronous work is enqueued through a Stream and closed into a batch, whose completion is
// polled, never waited for inside a driver.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/device/device.hpp"
#include "lib/device/handicap.hpp"
#include "lib/exec/freed_memory.hpp"
#include "lib/exec/notifier.hpp"
#include "lib/exec/slow_down.hpp"
#include "lib/exec/wait.hpp"
#include "lib/profile/clock_map.hpp"
#include "lib/profile/cluster_record.hpp"
#include "lib/profile/timeline.hpp"
#include "lib/workload/peers.hpp"
#include "lib/workload/stream.hpp"

namespace mgpu {

// A command with the device's own time stamps, in device nanoseconds; ClockMap converts them to
// host time.
struct RawCommand {
  CommandKind kind = CommandKind::compute;
  Name label;
  Bytes bytes = 0;
  std::uint64_t queued = 0, submitted = 0, started = 0, ended = 0;
  std::uint32_t queue = 0;  // index among the device's compute queues; 0 for transfers
  std::optional<ExchangeInfo> exchange{};
  // Iteration of iterative work, set by the worker that enqueued it.
  std::optional<std::uint32_t> round{};
};

// Time from the first start to the last end of a batch's commands, in device nanoseconds; zero if
// it has no commands.
struct DeviceSpan {
  std::uint64_t started = 0, ended = 0;
};

// A batch: the commands enqueued between two calls of OpenDevice::submit.
struct BatchId {
  std::uint64_t value = 0;
};

// Host memory pinned for fast transfers to every device; its destructor unpins it.
class PinnedMemory {
 public:
  virtual ~PinnedMemory() = default;
};

// Cost of set-up since the last call of take_setup_cost().
struct SetupCost {
  Nanos build{}, alloc{};
  Bytes allocated = 0;  // currently allocated on the device, without freed memory that is kept
  MemoryPeak memory{};
};

// An opened device: its context, queues and stream. Owned by the session, used by one worker thread
// at a time. The destructor does not wait for long: it leaks handles that commands may still be
// using. Host memory of transfers belongs to the caller, who must not free it before the device is
// drained.
class OpenDevice {
 public:
  explicit OpenDevice(const Handicap& handicap = {}) : slow_down_(handicap) {}
  virtual ~OpenDevice() = default;
  SlowDown& slow_down() { return slow_down_; }  // its throttling, and since when that applies
  // Notifier of a device with notifies(), used when a batch completes and when a throttling stall
  // begins. CPU devices notify, as their cores are for kernels; others are polled.
  Notifier& notifier() { return *notifier_; }
  virtual bool notifies() const { return false; }
  // Returns the longest time between polls of a device that notifies: one that hangs, or a command
  // that fails, need not notify.
  virtual Nanos looked_at_every() const { return Notifier::kLongest; }
  virtual DeviceResources& resources() = 0;
  virtual Stream& stream() = 0;
  // Commands from now on have no times of the device, which take() and span() then cannot return.
  // A time stamp costs the host of an H200 7 us. The device must be idle.
  virtual void leave_untimed() {}
  // Begins a slice, to which all commands belong until submit(). Other commands (loading,
  // collecting, merging) belong to no slice.
  virtual void begin_slice() = 0;
  virtual BatchId submit() = 0;  // closes the batch and flushes the queues
  // Polls whether everything in the batch has completed. Throws Error(device) if a command failed;
  // the device then counts as failed.
  virtual bool complete(BatchId batch) = 0;
  // Tells whether a kernel of the batch may have to be compiled before it runs, as some drivers do
  // at its first launch: the caller then adds the build limit to its timeout.
  virtual bool may_compile(BatchId) { return false; }
  // Returns when a throttling stall shall end, if that is known: complete() must be polled then, or
  // the device is stalled for longer.
  virtual std::optional<Nanos> due() const { return {}; }
  // Returns the span of a complete batch before it is taken; cheaper than all its times.
  virtual DeviceSpan span(BatchId batch) = 0;
  // Returns the commands of a complete batch in order of enqueueing; once per batch.
  virtual std::vector<RawCommand> take(BatchId batch) = 0;
  // Probes the clock `count` times, blocking for about 10 us each. Throws Error(device),
  // Error(timeout), Error(interrupted).
  virtual std::vector<ClockProbe> probe_clock(unsigned count) = 0;
  virtual SetupCost take_setup_cost() = 0;
  // Gives up commands under way, which are not polled any more: throttling must not stall them for
  // ever. Nothing that they may be using is released until drained() returns true.
  virtual void abandon() = 0;
  // Polls whether all commands that the device was ever given have ended; called after an error,
  // when throttling no longer applies. False also if that is not known: a GPU whose command failed
  // may still be executing others.
  virtual bool drained() = 0;
  // Records that an abandoned thread is inside a call of this device, perhaps for ever: the device
  // will never be drained.
  virtual void mark_wedged() { thread_inside_ = true; }
  bool has_thread_inside() const { return thread_inside_; }
  // Returns the bytes that can still be allocated, as far as they are known: another process may
  // take them. Devices that share memory are given equal shares.
  virtual Bytes free_memory() = 0;

 protected:
  // Returns the notifier for callbacks, which may come after the device is destroyed.
  std::shared_ptr<Notifier> shared_notifier() const { return notifier_; }

 private:
  std::atomic<bool> thread_inside_ = false;
  SlowDown slow_down_;
  std::shared_ptr<Notifier> notifier_ = std::make_shared<Notifier>();
};

class Backend {
 public:
  virtual ~Backend() = default;
  // Result of enumerate(): every device of every platform, best score first. A bad platform or
  // device is a warning, not an error.
  struct Enumeration {
    std::vector<Device> devices;
    std::vector<std::string> warnings;
    std::vector<std::string> platforms;  // names, for the message when there is no device
  };
  virtual Enumeration enumerate() = 0;
  // Splits a device into equal sub-devices, at most one per compute unit. Throws Error(unsupported)
  // when it cannot be split so.
  virtual std::vector<Device> split(const Device& device, unsigned parts) = 0;
  // Opens a device, throttled by its handicap: slower, later, with less memory. Each deliberate
  // stall is recorded as a compute command "slow-down" (after the kernels of a batch, before its
  // downloads) or "delay" (before those of a slice). On a GPU a slow-down too short for a command
  // of its own is added to a later one. Throws Error(device).
  virtual std::unique_ptr<OpenDevice> open(const Device& device, const Handicap& handicap) = 0;
  std::unique_ptr<OpenDevice> open(const Device& device) { return open(device, Handicap{}); }
  // Pins `memory` in place if that makes transfers of `devices` faster; else returns null.
  virtual std::unique_ptr<PinnedMemory> pin(std::span<const std::byte> memory,
                                            std::span<OpenDevice* const> devices) = 0;

  // Connects devices so that they can exchange data, over `path`, or over the best path of each
  // ordered pair; staged works for all. The devices must outlive the group, and be in one group at
  // a time. Throws Error(unsupported) if a pair does not have the path asked for, Error(device),
  // Error(out_of_memory), Error(timeout).
  virtual std::unique_ptr<PeerGroup> connect(std::span<OpenDevice* const> devices,
                                             std::optional<PeerPath> path) = 0;

  virtual Nanos now() = 0;              // host clock: steady, or virtual
  virtual bool is_virtual() const = 0;  // if so, the executor runs all workers on one thread
  // Moves a virtual clock, which changes only here: to the next completion or, if nothing will
  // complete, to `limit`. Returns false if there is neither, and always in real time.
  virtual bool advance(std::optional<Nanos> limit) = 0;

  // Returns the ranks that the devices belong to; none: all are this process's. Takes milliseconds
  // per rank.
  virtual std::optional<ClusterRecord> cluster() { return std::nullopt; }

  // Sets the limits of waits for this backend and its devices; must not be called during a wait.
  virtual void limit_waits(WaitLimits limits) { limits_ = std::move(limits); }
  const WaitLimits& limits() const { return limits_; }

 private:
  WaitLimits limits_;
};

}  // namespace mgpu
