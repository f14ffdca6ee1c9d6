// How a chain of stages went, of which each device has some and every round is a batch that goes
// through all of them. Pure functions of a timeline.
#pragma once

#include <optional>
#include <vector>

#include "lib/profile/timeline.hpp"

namespace mgpu {

struct ChainPhases {
  Nanos filling{};   // from the begin of the sample until every device of the chain has begun its
                     // first batch
  Nanos draining{};  // from when the first of them has done its last batch until the end
  DeviceIndex slowest{};  // the device whose kernels take longest for a batch
  Nanos busy{};           // that, the mean over batches
  Nanos period{};  // from batch to batch there, the mean from the begin of the first to the end of
                   // the last
  struct Stage {
    DeviceIndex device;
    Name kernel;
    Nanos time{};  // of a batch, the mean
    bool operator==(const Stage&) const = default;
  };
  std::vector<Stage> stages;  // launches of a round, in the order of the devices and, on each, of a
                              // round; kernels of exchanges are none
  std::size_t slowest_stage() const;
  bool operator==(const ChainPhases&) const = default;
};

// None with fewer than two devices that have kernels of rounds, and where one has a round without
// any. Throws Error(internal) for a device that the timeline does not have.
std::optional<ChainPhases> chain_phases(const Timeline& timeline);

}  // namespace mgpu
