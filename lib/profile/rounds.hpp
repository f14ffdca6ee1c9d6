// How evenly devices shared the rounds of work that goes in rounds. Pure functions of a timeline.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/profile/timeline.hpp"

namespace mgpu {

// Of a round: (longest / mean - 1) * 100 over all devices of the timeline of the time under kernels
// of that round. In %.
struct RoundImbalance {
  double mean = 0;                // over the rounds
  double worst = 0;               // of a round
  std::uint32_t worst_round = 0;  // the first with it
};

// None with fewer than two devices, and where no kernel is of a round. Rounds without kernels do
// not count. Kernels of all rounds are sorted: O(n log n). Throws Error(internal) for a device that
// the timeline does not have.
std::optional<RoundImbalance> round_imbalance(const Timeline& timeline);

}  // namespace mgpu
