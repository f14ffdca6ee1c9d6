// One sample as it was measured: device stamps not yet on the host's clock. Times of the host are Backend::now().
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/exec/backend.hpp"
#include "lib/plan/strategy.hpp"
#include "lib/profile/timeline.hpp"

namespace mgpu {

struct RawBatch {
  DeviceIndex device;
  std::int32_t slice = 0;  // or kPrepare, kCollect, kMerge
  std::vector<RawCommand> commands;
};

struct DeviceFault {
  DeviceIndex device;
  std::string what;
  Items items_lost = 0;  // given to it and without a result on the host: done again by others
  bool hung = false;     // its handles must not be released
};

struct RawSample {
  Nanos begin{}, end{};
  Nanos merge_begin{}, merge_end{};
  std::optional<DeviceIndex> merged_on;  // none: the host
  std::vector<RawBatch> batches;
  std::vector<HostSpan> spans;
  std::vector<SliceRecord> slices;
  Nanos decision{};  // all calls of SliceSource::next
  std::vector<DeviceFault> faults;
  std::optional<Error> failure;  // the sample has no result

  Nanos makespan() const { return end - begin; }
};

// All on the host's clock, relative to the sample's begin. `clocks` by DeviceIndex. Stamps are left where the map puts them: a
// command may stick out of the sample by the clock's uncertainty.
Timeline to_timeline(const RawSample& sample, std::span<const ClockMap> clocks);

// What each of the `devices` did: items finished, and the union of its commands in its own time.
SampleShare share_of(const RawSample& sample, std::size_t devices);

}  // namespace mgpu
