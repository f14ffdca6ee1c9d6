// The seam to hardware: OpenCL and the fake backend implement it, the executor drives it.
// Everything asynchronous is enqueued through a Stream and closed into a batch, whose completion is
// asked for, never waited for inside a driver.
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
#include "lib/exec/notifier.hpp"
#include "lib/exec/slow_down.hpp"
#include "lib/exec/wait.hpp"
#include "lib/profile/clock_map.hpp"
#include "lib/profile/cluster_record.hpp"
#include "lib/profile/timeline.hpp"
#include "lib/workload/peers.hpp"
#include "lib/workload/stream.hpp"

namespace mgpu {

// A command as the device stamped it: device nanoseconds; ClockMap turns them into host time.
struct RawCommand {
  CommandKind kind = CommandKind::compute;
  Name label;
  Bytes bytes = 0;
  std::uint64_t queued = 0, submitted = 0, started = 0, ended = 0;
  std::uint32_t queue = 0;  // of the device's compute queues; 0 for transfers
  std::optional<ExchangeInfo> exchange{};
  std::optional<std::uint32_t> round{};  // of work that goes in rounds, set by whoever enqueued it
};

// From the first start to the last end of a batch's commands, in device nanoseconds; zero without
// commands.
struct DeviceSpan {
  std::uint64_t started = 0, ended = 0;
};

// Commands enqueued between two calls of OpenDevice::submit.
struct BatchId {
  std::uint64_t value = 0;
};

// Host memory made fit for fast transfers to every device; undone by its destructor.
class PinnedMemory {
 public:
  virtual ~PinnedMemory() = default;
};

// What set-up cost since the last look.
struct SetupCost {
  Nanos build{}, alloc{};
  Bytes allocated = 0;  // now held on the device
};

// An opened device: its context, queues and stream. Owned by the session, used by one worker thread
// at a time. The destructor does not wait for long: handles that commands may still be using it
// leaks. The host memory of transfers is the owner's, who must not free it before the device is
// drained.
class OpenDevice {
 public:
  explicit OpenDevice(const Handicap& handicap = {}) : slow_down_(handicap) {}
  virtual ~OpenDevice() = default;
  SlowDown& slow_down() { return slow_down_; }  // its handicap, and from when on it is in force
  // Of a device that notifies(): notified when a batch completes and when a handicap's hold begins.
  // That is a CPU, whose cores are for kernels; others are polled.
  Notifier& notifier() { return *notifier_; }
  virtual bool notifies() const { return false; }
  // For how long nobody looks at it without being notified: a device that hangs, or a command that
  // fails, need not notify.
  virtual Nanos looked_at_every() const { return Notifier::kLongest; }
  virtual DeviceResources& resources() = 0;
  virtual Stream& stream() = 0;
  // What is enqueued until submit() is a slice's. What is enqueued otherwise is not a slice:
  // loading, collecting, merging.
  virtual void begin_slice() = 0;
  virtual BatchId submit() = 0;  // closes the batch and flushes the queues
  // Has everything in the batch completed? Polls. Throws Error(device) when a command failed; the
  // device is then lost.
  virtual bool complete(BatchId batch) = 0;
  // May a kernel of the batch have to be compiled before it runs? Some drivers do that when one is
  // launched for the first time: whoever waits allows as long as for a build.
  virtual bool may_compile(BatchId) { return false; }
  // When a handicap's hold shall end, as far as that is known: complete() must be asked then, or
  // the device is held for longer.
  virtual std::optional<Nanos> due() const { return {}; }
  virtual DeviceSpan span(
      BatchId batch) = 0;  // of a complete batch, before it is taken; cheaper than all its times
  virtual std::vector<RawCommand> take(
      BatchId batch) = 0;  // of a complete batch, once; in order of enqueueing
  // Blocks for about 10 us each. Throws Error(device), Error(timeout), Error(interrupted).
  virtual std::vector<ClockProbe> probe_clock(unsigned count) = 0;
  virtual SetupCost take_setup_cost() = 0;
  // Nobody will ask for the commands that may be under way: a handicap must not hold them for ever,
  // and nothing that they may be using is released, until drained() has said that they have ended.
  virtual void abandon() = 0;
  // Have all commands that it was ever given ended? Polls; for after an error, as a handicap no
  // longer applies. False also where that is not known: a GPU one of whose commands failed may
  // still be at work on others.
  virtual bool drained() = 0;
  // A thread that nobody waits for any longer is inside one of its calls, perhaps for ever: the
  // device is never at rest again.
  virtual void leave_thread_inside() { thread_inside_ = true; }
  bool has_thread_inside() const { return thread_inside_; }
  // What can still be allocated, as far as anybody reports: another process may take it. Devices
  // that share memory are given equal shares.
  virtual Bytes free_memory() = 0;

 protected:
  std::shared_ptr<Notifier> shared_notifier() const {
    return notifier_;
  }  // for callbacks, which may come after the device is gone

 private:
  std::atomic<bool> thread_inside_ = false;
  SlowDown slow_down_;
  std::shared_ptr<Notifier> notifier_ = std::make_shared<Notifier>();
};

class Backend {
 public:
  virtual ~Backend() = default;
  // Every device of every platform, best score first. A bad platform or device is a warning, not
  // the end.
  struct Enumeration {
    std::vector<Device> devices;
    std::vector<std::string> warnings;
    std::vector<std::string> platforms;  // names, for the message when there is no device
  };
  virtual Enumeration enumerate() = 0;
  // Equal sub-devices of one device (one compute unit each at most). Throws Error(unsupported) when
  // it cannot be split so.
  virtual std::vector<Device> split(const Device& device, unsigned parts) = 0;
  // The device under its handicap: slower, later, with less memory. A stretch of time in which it
  // is held back on purpose is a compute command "slow-down" (after the kernels of a batch, before
  // its downloads) or "delay" (before those of a slice). On a GPU a slow-down too short for a
  // command of its own is owed, and made up by a later one. Throws Error(device).
  virtual std::unique_ptr<OpenDevice> open(const Device& device, const Handicap& handicap) = 0;
  std::unique_ptr<OpenDevice> open(const Device& device) { return open(device, Handicap{}); }
  // Pins `memory` in place where that makes transfers of `devices` faster; null where it would not.
  virtual std::unique_ptr<PinnedMemory> pin(std::span<const std::byte> memory,
                                            std::span<OpenDevice* const> devices) = 0;

  // Makes it possible for the devices to exchange data, over `path`, or over the best that each
  // ordered pair has; staged works for all. They must outlive the group, and be in one group at a
  // time. Throws Error(unsupported) where a pair does not have the path asked for, Error(device),
  // Error(out_of_memory), Error(timeout).
  virtual std::unique_ptr<PeerGroup> connect(std::span<OpenDevice* const> devices,
                                             std::optional<PeerPath> path) = 0;

  virtual Nanos now() = 0;              // the clock of every host time: steady, or virtual
  virtual bool is_virtual() const = 0;  // then the executor runs all workers on one thread
  // A virtual clock moves only here: to the next completion or, when nothing will complete, to
  // `limit` if there is one. False when there is neither, and always when time is real.
  virtual bool advance(std::optional<Nanos> limit) = 0;

  // The ranks that the devices belong to; none: all are this process's. Takes milliseconds a rank.
  virtual std::optional<ClusterRecord> cluster() { return std::nullopt; }

  // How long this backend and its devices may take; to be changed while nobody waits for them.
  virtual void limit_waits(WaitLimits limits) { limits_ = std::move(limits); }
  const WaitLimits& limits() const { return limits_; }

 private:
  WaitLimits limits_;
};

}  // namespace mgpu
