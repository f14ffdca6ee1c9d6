// Scaling: predicts the gain of more nodes, for the same work (strong) and for a constant amount of
// work per node (weak). Each row is one simulation.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lib/plan/choose.hpp"
#include "lib/plan/scenario.hpp"
#include "lib/plan/strategy.hpp"

namespace mgpu {

enum class Scales { strong, weak };
const char* to_string(Scales scales);

struct ScalingRow {
  std::string strategy;
  Mode mode = Mode::resident;
  Scales scales = Scales::strong;
  std::size_t nodes = 0, devices = 0;
  Items items = 0;
  double rates = 0;       // items/s of all devices together, from their compute rates alone
  Nanos time{};           // 0: the work could not be placed
  double speedup = 0;     // items/s relative to the first row of its series
  double efficiency = 0;  // speed-up divided by the ratio of `rates`: 1 is perfect
  Nanos sending{}, receiving{}, handing_out{};  // see Simulation
  std::string why_not;
};

struct ScalingRequest {
  std::vector<StrategyChoice> strategies;
  std::vector<Mode> modes;
  std::vector<std::size_t> nodes;  // ascending
  // Number of nodes that the work of the scenario is for, in weak scaling.
  std::size_t stated_on = 1;
};

// Returns a series, over all numbers of nodes, for each mode and strategy, strong before weak.
// `begins` is called before each row is simulated, and returns whether to continue. Throws what
// on_nodes() and simulate() throw.
std::vector<ScalingRow> simulate_scaling(const Scenario& scenario, const ScalingRequest& request,
                                         const std::function<bool(const ScalingRow&)>& begins);

// Returns the estimates of all devices of the scenario, with few pieces if there are many of them.
ScenarioEstimates estimates_of(const Scenario& scenario, Mode mode);

// Computes the speed-ups and efficiencies of one series from times, items and rates, relative to
// its first row that has a time.
void compare_with_first(std::span<ScalingRow> series);

}  // namespace mgpu
