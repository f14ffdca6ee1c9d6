// How evenly devices shared the iterations of iterative work. Pure functions of a timeline.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/profile/timeline.hpp"

namespace mgpu {

// Imbalance of an iteration in %: (longest / mean - 1) * 100 over all devices of the timeline, of
// the time under kernels of that iteration.
struct RoundImbalance {
  double mean = 0;                // over the iterations
  double worst = 0;               // largest imbalance of one iteration
  std::uint32_t worst_round = 0;  // the first iteration with it
};

// Returns the imbalance; none with fewer than two devices, or if no kernel belongs to an iteration.
// Iterations without kernels do not count. Sorts the kernels of all iterations: O(n log n). Throws
// Error(internal) for a device that the timeline does not have.
std::optional<RoundImbalance> round_imbalance(const Timeline& timeline);

}  // namespace mgpu
