// See the header.
#include "lib/session/forecast.hpp"

#include <algorithm>
#include <cmath>

#include "lib/base/error.hpp"

namespace mgpu {
namespace {

constexpr Nanos kLongProbe = std::chrono::milliseconds(1);  // of a CPU: tells what an item costs

double no_more_than(double probed, double calibrated) { return calibrated > 0 ? std::min(probed, calibrated) : probed; }

}  // namespace

const StrategyChoice& strategy_of(const Cell& cell) {
  static const StrategyChoice alone = parse_strategies("single").front();
  return cell.alone() ? alone : *cell.choice;
}

void estimate_cell(Cell& cell, const Probe& together, Workload& workload, Mode mode, std::span<const SessionDevice> devices,
                   std::span<const Prepared> prepared, const Calibration& calibration, const StatedPlan* stated) {
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
    const bool beside = cell.count > 1 && i - cell.first < together.devices.size();
    const ProbedDevice probed = beside ? together.devices[i - cell.first] : ProbedDevice{};
    cell.link_up += probed.up > 0 && estimate.up > 0 ? probed.up : estimate.up;
    cell.link_down += probed.down > 0 && estimate.down > 0 ? probed.down : estimate.down;
    estimate.up = alone.up;
    estimate.down = alone.down;
    estimate.score = devices[i].facts.score;
    estimate.free_memory = devices[i].free_memory;
    if (stated) estimate = stated->estimates.at(i);
    estimate.fits = estimate.fits > 0 ? std::min(estimate.fits, mine.capacity.fits) : mine.capacity.fits;
    estimate.pipeline = std::min(estimate.fits, estimate.pipeline > 0 ? estimate.pipeline : mine.capacity.pipeline);
    cell.estimates.push_back(estimate);
  }
  if (calibration.link && calibration.link->devices.size() == cell.count) {
    cell.link_up = no_more_than(cell.link_up, calibration.link->up);
    cell.link_down = no_more_than(cell.link_down, calibration.link->down);
  }
  if (!stated) return;
  cell.link_up = stated->link_up;
  cell.link_down = stated->link_down;
}

PlanRequest request_of(const Cell& cell, const Workload& workload, Mode mode) {
  const Shape& shape = workload.shape();
  return {shape.items, shape.granularity, mode, workload.cost(mode), cell.estimates, cell.link_up, cell.link_down, cell.merge};
}

KnownCosts known_costs(const SessionDevice& device, const Capability* capability, const SuiteRate* rate, const Workload& workload,
                       Mode mode, std::size_t count, std::size_t all) {
  const Shape& shape = workload.shape();
  const double ops = workload.cost(mode).ops;  // of an item
  const bool cpu = device.facts.is_cpu();
  KnownCosts costs;
  if (!cpu && capability != nullptr) {
    const auto per_byte = [](double bytes_per_s) { return bytes_per_s > 0 ? 1 / bytes_per_s : 0; };
    costs.up_per_byte_s = per_byte(capability->pinned_up);
    costs.down_per_byte_s = per_byte(capability->pinned_down);
  }
  if (cpu) costs.believed = shape.parts_cost_less ? Nanos::max() : kLongProbe;
  if (rate == nullptr || !(rate->ops_per_s > 0)) return costs;
  costs.full_per_item_s = ops / rate->ops_per_s;
  if (device.handicap.slows_always()) costs.full_per_item_s *= device.handicap.slow;
  if (!cpu) return costs;
  if (all > 1) costs.full_per_item_s *= 1 + (rate->crowded - 1) * static_cast<double>(count - 1) / static_cast<double>(all - 1);
  if (!shape.parts_cost_less || !(rate->ops > 0)) return costs;
  const double share = ops * static_cast<double>(shape.items) / static_cast<double>(count);
  costs.least_slice = rate->slice;
  costs.least_rest = from_seconds(seconds(rate->fixed) * std::pow(share / rate->ops, rate->fixed_grows));
  return costs;
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
