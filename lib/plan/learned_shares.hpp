// What earlier samples of a case teach about its shares: a controller that keeps, changes or rolls
// back, read off the history alone.
#pragma once

#include <optional>
#include <vector>

#include "lib/plan/strategy.hpp"

namespace mgpu {

// The shares to start the next sample with; nothing when no sample says anything. From the last
// samples only:
// - Kept as they were, as long as a change would gain no more than 2 % and no device was busy 0.3
// of the makespan less than another
//   (a hot one, above 0.8, beside a cold one, below 0.5, is such a gap). That is the hysteresis.
// - Else in proportion to the rates that were measured, the middle of the last three samples: one
// sample that took long for reasons
//   of its own changes nothing.
// - Rolled back to the best shares known when the last ones took 2 % longer than those; and a
// change that did is not tried again.
//   What shares are worth is what they took when last tried: a device that became slow makes the
//   old best ones bad.
// Shares are those a sample was begun with, whatever was moved since; without any, what each device
// did. `speeds`: of the estimates, for devices that were given nothing so far.
std::optional<std::vector<double>> learned_shares(const PlanRequest& request,
                                                  const History& history,
                                                  const std::vector<double>& speeds);

}  // namespace mgpu
