// Scaling: what more nodes gain, for the same work (strong) and for as much work a node (weak).
// Each row is one simulation.
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
  double rates = 0;       // items/s of all devices together, if nothing but computing took time
  Nanos time{};           // 0: it could not be placed
  double speedup = 0;     // items/s beside that of the first row of its series
  double efficiency = 0;  // that, beside how many times as fast the devices are: 1 is perfect
  Nanos sending{}, receiving{}, handing_out{};  // as Simulation has them
  std::string why_not;
};

struct ScalingRequest {
  std::vector<StrategyChoice> strategies;
  std::vector<Mode> modes;
  std::vector<std::size_t> nodes;  // ascending
  std::size_t stated_on =
      1;  // so many nodes the work of the scenario is for, where it is to grow with them
};

// By mode, strategy, and strong before weak: a series, over all numbers of nodes. `begins` is told
// of each row before it, and returns whether to go on. Throws as on_nodes() and simulate().
std::vector<ScalingRow> simulate_scaling(const Scenario& scenario, const ScalingRequest& request,
                                         const std::function<bool(const ScalingRow&)>& begins);

// What `auto` would do with it, on all of its devices. Throws as choose_plan().
PlanChoice plan_scenario(const Scenario& scenario, Mode mode);

// Of one series, from times, items and rates: speed-ups and efficiencies beside its first row that
// has a time.
void compare_with_first(std::span<ScalingRow> series);

}  // namespace mgpu
