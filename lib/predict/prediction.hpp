// Predicts cases, and begins the sources that strategies make for them. Pure: the input of each
// function is the case's request.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "lib/plan/choose.hpp"
#include "lib/plan/simulator.hpp"

namespace mgpu {

// Prediction of a case. Everything is in the order of the case's devices.
struct Prediction {
  SetEstimates estimates;  // rates are 0 if nothing is known; no devices: not estimated yet
  // Plan that `auto` chose; it chooses once, as it learns nothing more before a later sample.
  std::optional<PlanChoice> chosen;
  // None if a rate is not known, or the work cannot be placed.
  std::optional<Simulation> expected;
};

// If the strategy is `auto`, chooses the plan that it will run. Without a rate of every device
// there is no choice. `asked` is the request with the prediction's estimates, here and below.
void choose(Prediction& prediction, const StrategyChoice& strategy, const PlanRequest& asked);
// Predicts the time of the next sample, with the source that begin() would make.
void predict(Prediction& prediction, const StrategyChoice& strategy, const History& history,
             const PlanRequest& asked);
// Begins the source of the next sample: that of the chosen plan, if there is one, else that of the
// strategy. Throws what Strategy::begin throws.
std::unique_ptr<SliceSource> begin(const Prediction& prediction, const StrategyChoice& strategy,
                                   const History& history, const PlanRequest& asked);
// Returns the request with the devices used as the chosen plan uses them; views `estimates`, a copy
// of those of the request.
PlanRequest as_chosen(const Prediction& prediction, const PlanRequest& asked,
                      std::vector<DeviceEstimate>& estimates);

}  // namespace mgpu
