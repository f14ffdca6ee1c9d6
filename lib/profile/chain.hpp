// Phases of a chain (pipeline) of stages: each device has some of the stages, and every iteration
// is a batch that passes through all of them. Pure functions of a timeline.
#pragma once

#include <optional>
#include <vector>

#include "lib/profile/timeline.hpp"

namespace mgpu {

struct ChainPhases {
  // Time from the begin of the sample until every device of the chain has begun its first batch.
  Nanos filling{};
  // Time from the first device's end of its last batch until the end of the sample.
  Nanos draining{};
  DeviceIndex slowest{};  // the device with the longest kernel time per batch
  Nanos busy{};           // its mean kernel time per batch
  // Its mean time from batch to batch, from the begin of the first to the end of the last.
  Nanos period{};
  struct Stage {
    DeviceIndex device;
    Name kernel;
    Nanos time{};  // mean per batch
    bool operator==(const Stage&) const = default;
  };
  // Launches of an iteration, by device and, on each, in order; without kernels of exchanges.
  std::vector<Stage> stages;
  std::size_t slowest_stage() const;
  bool operator==(const ChainPhases&) const = default;
};

// Returns the phases; none with fewer than two devices that have kernels of iterations. Throws
// Error(internal) for a device that the timeline does not have.
std::optional<ChainPhases> chain_phases(const Timeline& timeline);

}  // namespace mgpu
