#include "lib/predict/prediction.hpp"

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/plan/rounds.hpp"

namespace mgpu {
namespace {

bool can_predict(const PlanRequest& asked) {
  return asked.items > 0 && std::all_of(asked.devices.begin(), asked.devices.end(),
                                        [](const auto& e) { return e.items_per_s > 0; });
}

}  // namespace

void choose(Prediction& prediction, const StrategyChoice& strategy, const PlanRequest& asked) {
  if (strategy.info != &auto_strategy() || !can_predict(asked)) return;
  try {
    prediction.chosen = choose_plan(asked, fewest_devices(strategy.params));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;  // the case reports it itself
  }
}

void predict(Prediction& prediction, const StrategyChoice& strategy, const History& history,
             const PlanRequest& asked) {
  if (!can_predict(asked)) return;
  try {
    std::vector<DeviceEstimate> estimates;
    prediction.expected = simulate(as_chosen(prediction, asked, estimates),
                                   *begin(prediction, strategy, history, asked));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;  // the case reports it itself
  }
}

std::unique_ptr<SliceSource> begin(const Prediction& prediction, const StrategyChoice& strategy,
                                   const History& history, const PlanRequest& asked) {
  if (prediction.chosen) return begin_chosen(*prediction.chosen, asked, history);
  return begin_strategy(*strategy.info, strategy.params, asked, history);
}

PlanRequest as_chosen(const Prediction& prediction, const PlanRequest& asked,
                      std::vector<DeviceEstimate>& estimates) {
  if (!prediction.chosen) return asked;
  estimates = devices_of_choice(*prediction.chosen, asked);
  PlanRequest chosen = asked;
  chosen.devices = estimates;
  return chosen;
}

}  // namespace mgpu
