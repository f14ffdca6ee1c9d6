// One sample as it was measured: device stamps not yet on the host's clock. Times of the host are
// Backend::now().
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
  bool lost =
      false;  // with its device, before the result was on the host: others computed it again
};

// A device that was lost in the sample. What it had in flight is unknown, whatever the error:
// nothing that it may still read or write must be freed.
struct DeviceFault {
  DeviceIndex device;
  ErrorKind kind = ErrorKind::device;
  std::string what{};
  Nanos at{};            // when it was found, since the sample's begin
  Nanos detection{};     // from the device's last sign of life, or the first command it had not
                         // finished, to then
  bool merging = false;  // it had given all its results to the host
  std::vector<Slice> lost{};  // given to it and without a result on the host: done again by others
  Items items_lost = 0;       // of those
  // Of work that goes in rounds: how many were done, as far as that is known; and what the sample
  // was begun again with, if it was.
  std::optional<std::uint32_t> round{};
  struct BegunAgain {
    std::uint32_t round = 0;  // done in the state that it was begun again from
    Nanos after{};            // from when the fault was found to when the others began
  };
  std::optional<BegunAgain> begun_again{};

  bool hung() const { return kind == ErrorKind::timeout; }
};

// Of work that goes in rounds: when so many were done, borders moved, and these are the shares
// since.
struct MovedBorders {
  std::uint32_t round = 0;
  std::vector<Items> shares;
};

struct RawSample {
  Nanos begin{}, end{};
  Nanos merge_begin{}, merge_end{};
  std::optional<DeviceIndex> merged_on;  // none: the host
  std::vector<RawBatch> batches;
  std::vector<HostSpan> spans;
  std::vector<RawSlice> slices;
  // Of work that goes in rounds, where borders may move: how many rounds, the shares it began with,
  // and what became of them.
  std::uint32_t rounds = 0;
  std::vector<Items> first_shares;
  std::vector<MovedBorders> moves;
  Nanos decision{};  // all calls of SliceSource::next
  std::vector<DeviceFault> faults;
  std::optional<Error> failure;  // the sample has no result
  bool interrupted = false;      // since it was asked to stop

  Nanos makespan() const { return end - begin; }
};

// Of intervals, in their unit.
std::uint64_t length_of_union(std::vector<std::pair<std::uint64_t, std::uint64_t>> intervals);

// All on the host's clock, relative to the sample's begin. `clocks` by DeviceIndex. Stamps are left
// where the map puts them: a command may stick out of the sample by the clock's uncertainty.
Timeline to_timeline(const RawSample& sample, std::span<const ClockMap> clocks);

// What became of the work that a fault lost: how much of it the others finished, and how long after
// the fault was found the last of it was; none where some of it never was.
struct Recovery {
  Items items = 0;
  std::optional<Nanos> time;
};
Recovery recovery_of(const RawSample& sample, const DeviceFault& fault);

// `first` lost a device and has no result; `then` was begun again from the state after so many
// rounds, by these of its devices (by position, of `then`). One sample: what `first` finished is
// lost.
RawSample joined(RawSample first, RawSample then, std::uint32_t round,
                 std::span<const DeviceIndex> devices);

// What each of the `devices` did: items finished, and the union of its commands in its own time.
// Between rounds of a slice it waits for others, which says nothing of how fast it is: that is left
// out.
SampleShare share_of(const RawSample& sample, std::size_t devices);

}  // namespace mgpu
