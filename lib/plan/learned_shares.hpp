// Learns the shares of a case from its earlier samples: a controller that keeps, changes or rolls
// back shares, from the history alone.
#pragma once

#include <optional>
#include <vector>

#include "lib/plan/strategy.hpp"

namespace mgpu {

// Returns the shares to start the next sample with; nothing if no sample is informative. Only the
// last samples count:
// - Shares are kept as long as a change would gain no more than 2 % and no device was busy 0.3 of
//   the makespan less than another (a device above 0.8 next to one below 0.5, for example). This is
//   the hysteresis.
// - Otherwise they become proportional to the measured rates, the median of the last three samples,
//   so that one unusually long sample changes nothing.
// - They are rolled back to the best known shares if the last ones took 2 % longer than those. A
//   change that did so is not tried again. Shares are judged by the latest sample that used them:
//   if a device becomes slow, the former best shares become bad.
// Shares are those that a sample began with, even if work was moved later; if there are none, what
// each device did. `speeds` of the estimates apply to devices that were given nothing so far.
std::optional<std::vector<double>> learned_shares(const PlanRequest& request,
                                                  const History& history,
                                                  const std::vector<double>& speeds);

}  // namespace mgpu
