#include "lib/plan/scaling.hpp"

#include <algorithm>
#include <numeric>

#include "lib/base/error.hpp"
#include "lib/plan/rounds.hpp"
#include "lib/plan/simulator.hpp"

namespace mgpu {
namespace {

// Most pieces of the work: each device's share is pipelined, however many devices there are.
constexpr Items kMostDevicePieces = Items{1} << 20;

// Simulates a sample. For a strategy that learns it is the second one, which follows what the first
// showed.
Simulation sample(const Scenario& scenario, const StrategyChoice& strategy, Mode mode,
                  const ScenarioEstimates& estimates) {
  const PlanRequest told = request_of(scenario.work, mode, estimates.given);
  History history;
  for (;;) {
    const std::unique_ptr<SliceSource> source =
        begin_strategy(*strategy.info, strategy.params, told, history);
    const std::vector<Items> first = source->first_shares();
    const SetEstimates real = while_at_work(estimates, first);
    Simulation simulation = simulate(request_of(scenario.work, mode, real), *source);
    if (!strategy.info->traits.learns || !history.empty()) return simulation;
    SampleShare& share = history.emplace_back();
    share.makespan = simulation.makespan;
    share.first = first;
    for (const SimulatedDevice& device : simulation.devices) {
      share.items.push_back(device.items);
      share.busy.push_back(device.busy);
    }
  }
}

}  // namespace

ScenarioEstimates estimates_of(const Scenario& scenario, Mode mode) {
  std::vector<std::size_t> devices(scenario.devices.size());
  std::iota(devices.begin(), devices.end(), std::size_t{0});
  return estimates_among(scenario, mode, devices, kMostDevicePieces);
}

void compare_with_first(std::span<ScalingRow> series) {
  const auto first = std::find_if(series.begin(), series.end(),
                                  [](const ScalingRow& row) { return row.time > Nanos{}; });
  if (first == series.end()) return;
  const auto rate = [](const ScalingRow& row) {
    return static_cast<double>(row.items) / seconds(row.time);
  };
  const double base = rate(*first), base_rates = first->rates;
  for (auto row = first; row != series.end(); ++row) {
    if (row->time <= Nanos{}) continue;
    row->speedup = rate(*row) / base;
    row->efficiency = row->speedup / (row->rates / base_rates);
  }
}

std::vector<ScalingRow> simulate_scaling(const Scenario& scenario, const ScalingRequest& request,
                                         const std::function<bool(const ScalingRow&)>& begins) {
  std::vector<Scenario> sets;
  for (const std::size_t nodes : request.nodes) sets.push_back(on_nodes(scenario, nodes));
  std::vector<ScalingRow> rows;
  for (const Mode mode : request.modes) {
    for (const StrategyChoice& strategy : request.strategies) {
      for (const Scales scales : {Scales::strong, Scales::weak}) {
        const std::size_t begin = rows.size();
        for (std::size_t n = 0; n < sets.size(); ++n) {
          Scenario& set = sets[n];
          ScalingRow row;
          row.strategy = strategy.label();
          row.mode = mode;
          row.scales = scales;
          row.nodes = request.nodes[n];
          row.devices = set.devices.size();
          set.work.items = row.items =
              scales == Scales::strong
                  ? scenario.work.items
                  : items_for_nodes(scenario.work, request.stated_on, request.nodes[n]);
          for (const ScenarioDevice& device : set.devices)
            row.rates += device.estimate.items_per_s / device.slow;
          if (!begins(row)) return rows;
          try {
            const Simulation simulated = sample(set, strategy, mode, estimates_of(set, mode));
            row.time = simulated.makespan;
            row.sending = simulated.sending;
            row.receiving = simulated.receiving;
            row.handing_out = simulated.handing_out;
          } catch (const Error& error) {
            if (error.kind() != ErrorKind::unsupported) throw;
            row.why_not = error.what();
          }
          rows.push_back(std::move(row));
        }
        compare_with_first(std::span(rows).subspan(begin));
      }
    }
  }
  return rows;
}

const char* to_string(Scales scales) { return scales == Scales::strong ? "strong" : "weak"; }

}  // namespace mgpu
