// Predicts cases, and begins the sources that strategies make for them. Pure: a case is its
// request.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "lib/plan/choose.hpp"
#include "lib/plan/simulator.hpp"

namespace mgpu {

// Has what is predicted of a case. Everything is in the order of the case's devices.
struct Prediction {
  SetEstimates estimates;  // rates are 0 where nothing is known; no devices: not estimated yet
  std::optional<PlanChoice> chosen;  // by `auto`, once: it knows no more before a later sample
  std::optional<Simulation>
      expected;  // none when a rate is not known, or the work cannot be placed
};

// If the strategy is `auto`, chooses what it will run. Without a rate of every device there is
// no choice. `asked` is the request by the prediction's estimates, as below.
void choose(Prediction& prediction, const StrategyChoice& strategy, const PlanRequest& asked);
// Predicts the time of the next sample: as begin() would begin it.
void predict(Prediction& prediction, const StrategyChoice& strategy, const History& history,
             const PlanRequest& asked);
// Begins the source of the next sample: of what was chosen, if it was; else of the strategy. Throws
// as Strategy::begin.
std::unique_ptr<SliceSource> begin(const Prediction& prediction, const StrategyChoice& strategy,
                                   const History& history, const PlanRequest& asked);
// Returns the request as far as what was chosen uses the devices; views `estimates`, a copy of
// those of the request.
PlanRequest as_chosen(const Prediction& prediction, const PlanRequest& asked,
                      std::vector<DeviceEstimate>& estimates);

}  // namespace mgpu
