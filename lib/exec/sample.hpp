// One sample as it was measured: device stamps are not yet on the host's clock. Host times are
// those of Backend::now().
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/exec/backend.hpp"
#include "lib/plan/slice_source.hpp"
#include "lib/plan/strategy.hpp"
#include "lib/profile/timeline.hpp"

namespace mgpu {

struct RawBatch {
  DeviceIndex device;
  std::int32_t slice = 0;  // or kPrepare, kCollect, kMerge
  std::vector<RawCommand> commands;
};

struct RawSlice : SliceRecord {
  // The device failed before the result was on the host: others computed it again.
  bool lost = false;
};

// A device failure in the sample. Commands in flight are then unknown, whatever the error: nothing
// that they may read or write must be freed.
struct DeviceFault {
  DeviceIndex device;
  ErrorKind kind = ErrorKind::device;
  std::string what{};
  Nanos at{};  // time of detection, since the sample's begin
  // Time until detection, from the device's last sign of life or the first unfinished command.
  Nanos detection{};
  bool merging = false;  // failed during the merge, when all its results were on the host
  // Slices whose results were not on the host: others compute them again.
  std::vector<Slice> lost{};
  Items items_lost = 0;  // items in `lost`
  // Iterative work only: the iterations done, as far as known, and the restart from a checkpoint.
  std::optional<std::uint32_t> round{};
  struct BegunAgain {
    std::uint32_t round = 0;  // iterations done in the checkpoint
    Nanos after{};            // time from detection to the restart
  };
  std::optional<BegunAgain> restarted{};

  bool hung() const { return kind == ErrorKind::timeout; }
};

// A rebalance of iterative work: the iterations done before it, and the shares since.
struct Rebalance {
  std::uint32_t round = 0;
  std::vector<Items> shares;
};

// Work that a strategy moved from the devices that it was given to first.
struct Migration {
  // Items that another device computed than the one whose first share they were in; of iterative
  // work, items whose device changed when the partition did, each time.
  Items items = 0;
  Bytes bytes = 0;  // state that iterative work sent to other devices for that
  // Sum over the devices. Iterative work: from the decision until the device's new state is there.
  // Other work: the time in which the strategy decided who gets what.
  Nanos time{};
};

// A device's work moved to others. `at`: since the sample's begin.
struct Handover {
  DeviceIndex from;
  Nanos at{};
  Items items = 0;
};

// A device slowed down in mid-sample, on purpose (Handicap). `at`: since the sample's begin.
struct SlowedDevice {
  DeviceIndex device;
  Nanos at{};
};

struct RawSample {
  Nanos begin{}, end{};
  Nanos merge_begin{}, merge_end{};
  std::optional<DeviceIndex> merged_on;  // none: on the host
  std::vector<RawBatch> batches;
  std::vector<HostSpan> spans;
  std::vector<RawSlice> slices;
  // Shares that were set apart for the devices at first; empty: there were none.
  std::vector<Items> first_shares;
  // Iterative work that was rebalanced: the number of iterations, and all rebalances.
  std::uint32_t rounds = 0;
  std::vector<Rebalance> moves;
  // None: its strategy never moves work.
  std::optional<Migration> migration;
  std::vector<Handover> handovers;  // in order of time
  std::vector<SlowedDevice> slowed;
  Nanos decision{};  // time in all calls of SliceSource::next
  std::vector<DeviceFault> faults;
  std::optional<Error> failure;  // set: the sample has no result
  bool interrupted = false;      // the failure is a request to stop

  Nanos makespan() const { return end - begin; }
};

// Returns the length of the union of intervals, in their unit.
std::uint64_t length_of_union(std::vector<std::pair<std::uint64_t, std::uint64_t>> intervals);

// Converts the sample to the host's clock, relative to the sample's begin. `clocks` by DeviceIndex.
// Stamps are not clamped to the sample: a command may exceed it by the clock's uncertainty.
Timeline to_timeline(const RawSample& sample, std::span<const ClockMap> clocks);

// Recovery of the work that a fault lost: the items that others computed again, and the time from
// the fault's detection to the last of them; none if some never were.
struct Recovery {
  Items items = 0;
  std::optional<Nanos> time;
};
Recovery recovery_of(const RawSample& sample, const DeviceFault& fault);

// Returns the items of a sample that another device computed than the one whose first share they
// were in. First shares are adjacent ranges, in the order of the devices.
Items items_moved(const RawSample& sample);

// Joins two attempts into one sample. `first` has a failed device and no result; `then` was
// restarted from a checkpoint after `round` iterations on `devices`, which maps its device
// positions to those of `first`. All slices of `first` count as lost.
RawSample joined(RawSample first, RawSample then, std::uint32_t round,
                 std::span<const DeviceIndex> devices);

// Returns the work of each device: items finished, and the union of its commands in its own time.
// Leaves out exchanges between iterations of a slice, in which the device waits for others: they
// say nothing of its speed.
SampleShare share_of(const RawSample& sample, std::size_t devices);

}  // namespace mgpu
