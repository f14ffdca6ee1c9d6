// See the header.
#include "lib/session/forecast.hpp"

#include <algorithm>

#include "lib/base/error.hpp"

namespace mgpu {

const StrategyChoice& strategy_of(const Cell& cell) {
  static const StrategyChoice alone = parse_strategies("single").front();
  return cell.alone() ? alone : *cell.choice;
}

void estimate_cell(Cell& cell, const Probe& together, Workload& workload, Mode mode, std::span<const SessionDevice> devices,
                   std::span<const Prepared> prepared, const StatedPlan* stated) {
  cell.estimates.clear();
  cell.link_up = cell.link_down = 0;
  cell.merge = stated ? stated->merge : workload.merge_estimate();
  const ItemCost cost = workload.cost(mode);
  for (std::size_t i = cell.first; i < cell.first + cell.count; ++i) {
    const Prepared& mine = prepared[i];
    const Share share{devices[i].facts.is_cpu() ? devices[i].facts.compute_units : 0, workload.shape().items / cell.count,
                      mine.capacity.pipeline};
    const DeviceEstimate alone = estimate_of(mine.probe, 0, cost, mode, share);
    DeviceEstimate estimate = estimate_of(together, i - cell.first, cost, mode, share);
    cell.link_up += estimate.up;
    cell.link_down += estimate.down;
    estimate.up = alone.up;
    estimate.down = alone.down;
    estimate.score = devices[i].facts.score;
    estimate.free_memory = devices[i].free_memory;
    if (stated) estimate = stated->estimates.at(i);
    estimate.fits = estimate.fits > 0 ? std::min(estimate.fits, mine.capacity.fits) : mine.capacity.fits;
    estimate.pipeline = std::min(estimate.fits, estimate.pipeline > 0 ? estimate.pipeline : mine.capacity.pipeline);
    cell.estimates.push_back(estimate);
  }
  if (!stated) return;
  cell.link_up = stated->link_up;
  cell.link_down = stated->link_down;
}

PlanRequest request_of(const Cell& cell, const Workload& workload, Mode mode) {
  const Shape& shape = workload.shape();
  return {shape.items, shape.granularity, mode, workload.cost(mode), cell.estimates, cell.link_up, cell.link_down, cell.merge};
}

void predict_cell(Cell& cell, const Workload& workload, Mode mode) {
  if (workload.shape().items == 0) return;
  if (std::any_of(cell.estimates.begin(), cell.estimates.end(), [](const auto& e) { return !(e.items_per_s > 0); })) return;
  const PlanRequest request = request_of(cell, workload, mode);
  const StrategyChoice& choice = strategy_of(cell);
  try {
    if (choice.info == &auto_strategy()) cell.chosen = choose_plan(request);
    const auto source = choice.info->make(choice.params)->begin(request, {});
    cell.predicted = simulate(request, *source);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;  // the case will say so itself
  }
}

}  // namespace mgpu
