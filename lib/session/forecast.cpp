#include "lib/session/forecast.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "lib/base/error.hpp"

namespace mgpu {
namespace {

constexpr Nanos kLongProbe = std::chrono::milliseconds(1);  // of a CPU: tells what an item costs

bool can_be_predicted(const Case& the_case, const Workload& workload) {
  return workload.shape().items > 0 &&
         std::all_of(the_case.estimates.begin(), the_case.estimates.end(), [](const auto& e) { return e.items_per_s > 0; });
}

}  // namespace

LinkRate link_of(double together, std::vector<double> own, const LinkRate& calibrated) {
  const std::size_t count = own.size();
  const double most = calibrated.of(count);
  if (most > 0) together = std::min(together, most);
  if (!(together > 0) || count < 3) return together;
  std::vector<double> by_count(count);
  if (calibrated.by_count().size() >= count) {
    for (std::size_t k = 1; k <= count; ++k) by_count[k - 1] = calibrated.of(k) * (together / most);
    return LinkRate(std::move(by_count));
  }
  const double all = std::accumulate(own.begin(), own.end(), 0.0);
  if (together >= all) return together;
  std::sort(own.begin(), own.end(), std::greater<>());
  double fastest = 0;
  for (std::size_t k = 1; k <= count; ++k) {
    fastest += own[k - 1];
    const double shrunk = 1 - (1 - together / all) * static_cast<double>(k - 1) / static_cast<double>(count - 1);
    by_count[k - 1] = std::min(together, fastest * shrunk);
  }
  return LinkRate(std::move(by_count));
}

const StrategyChoice& strategy_of(const Case& the_case) {
  static const StrategyChoice alone = strategy_with(&StrategyTraits::single_device);
  return the_case.alone() ? alone : *the_case.choice;
}

void estimate_case(Case& the_case, const Probe& together, Workload& workload, Mode mode, std::span<const SessionDevice> devices,
                   std::span<const Prepared> prepared, const Calibration& calibration, const SetEstimates* given) {
  the_case.estimates.clear();
  double together_up = 0, together_down = 0;
  std::vector<double> own_up, own_down;
  the_case.merge = given ? given->merge : workload.merge_estimate();
  const ItemCost cost = workload.cost(mode);
  const std::size_t count = the_case.devices.size();
  for (std::size_t n = 0; n < count; ++n) {
    const std::size_t i = the_case.devices[n];
    const Prepared& mine = prepared[i];
    const Share share{devices[i].facts.is_cpu() ? devices[i].facts.compute_units : 0, workload.shape().items / count,
                      mine.capacity.pipeline};
    const DeviceEstimate alone = estimate_of(mine.probe, 0, cost, mode, share);
    DeviceEstimate estimate = estimate_of(together, n, cost, mode, share);
    const bool beside = count > 1 && n < together.devices.size();
    const ProbedDevice probed = beside ? together.devices[n] : ProbedDevice{};
    together_up += probed.up > 0 && estimate.up > 0 ? probed.up : estimate.up;
    together_down += probed.down > 0 && estimate.down > 0 ? probed.down : estimate.down;
    // A CPU's rate, too, depends on who is at work beside it, which nothing here tells.
    const bool contended = count > 1 && !devices[i].facts.is_cpu() && alone.items_per_s > 0;
    if (contended)
      estimate.per_peer_contention = std::max(Nanos{}, estimate.fixed - alone.fixed) / static_cast<std::int64_t>(count - 1);
    own_up.push_back(estimate.up = alone.up);
    own_down.push_back(estimate.down = alone.down);
    estimate.score = devices[i].facts.score;
    estimate.free_memory = devices[i].free_memory;
    if (given && i < given->devices.size()) {
      estimate = given->devices.at(i);
      estimate.fixed = fixed_of(estimate, count, given->devices.size());
    }
    estimate.on_cpu = devices[i].facts.is_cpu();
    estimate.fits = estimate.fits > 0 ? std::min(estimate.fits, mine.capacity.fits) : mine.capacity.fits;
    estimate.pipeline = std::min(estimate.fits, estimate.pipeline > 0 ? estimate.pipeline : mine.capacity.pipeline);
    the_case.estimates.push_back(estimate);
  }
  const bool known = calibration.link && count == the_case.asked && the_case.devices.front() == 0 && calibration.link->knows(count);
  the_case.link_up = link_of(together_up, std::move(own_up), known ? calibration.link->up : LinkRate{});
  the_case.link_down = link_of(together_down, std::move(own_down), known ? calibration.link->down : LinkRate{});
  if (!given) return;
  the_case.link_up = given->link_up;
  the_case.link_down = given->link_down;
}

DeviceIndex fastest_of(std::span<const DeviceEstimate> estimates) {
  const auto slower = [](const DeviceEstimate& a, const DeviceEstimate& b) { return a.items_per_s < b.items_per_s; };
  return {static_cast<std::uint32_t>(std::max_element(estimates.begin(), estimates.end(), slower) - estimates.begin())};
}

PlanRequest request_of(const Case& the_case, const Workload& workload, Mode mode) {
  const Shape& shape = workload.shape();
  return {shape.items,      shape.granularity,  mode,          workload.cost(mode), the_case.estimates,
          the_case.link_up, the_case.link_down, the_case.merge};
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
  const double slower = device.handicap.slows_always() ? device.handicap.slow : 1;
  costs.full_per_item_s *= slower;
  if (!cpu) {
    if (!shape.parts_cost_less || !(rate->fewer_ops > 0)) return costs;
    costs.share = shape.items / count;
    costs.line = KnownLine{static_cast<Items>(rate->fewer_ops / ops),
                           from_seconds(seconds(rate->fewer) * slower),
                           {from_seconds(seconds(rate->slice) * slower), costs.full_per_item_s}};
    return costs;
  }
  if (all > 1) costs.full_per_item_s *= 1 + (rate->contended - 1) * static_cast<double>(count - 1) / static_cast<double>(all - 1);
  if (!shape.parts_cost_less || !(rate->ops > 0)) return costs;
  const double share = ops * static_cast<double>(shape.items) / static_cast<double>(count);
  costs.least_slice = from_seconds(seconds(rate->slice) * slower);
  costs.least_rest = from_seconds(seconds(rate->fixed) * std::pow(share / rate->ops, rate->fixed_grows));
  return costs;
}

void choose_case(Case& the_case, const Workload& workload, Mode mode) {
  if (strategy_of(the_case).info != &auto_strategy() || !can_be_predicted(the_case, workload)) return;
  try {
    the_case.chosen = choose_plan(request_of(the_case, workload, mode));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;  // the case will say so itself
  }
}

std::unique_ptr<SliceSource> begin_case(const Case& the_case, const PlanRequest& request) {
  if (the_case.chosen) return begin_chosen(*the_case.chosen, request, the_case.history);
  const StrategyChoice& choice = strategy_of(the_case);
  return choice.info->make(choice.params)->begin(request, the_case.history);
}

void predict_case(Case& the_case, const Workload& workload, Mode mode) {
  if (!can_be_predicted(the_case, workload)) return;
  const PlanRequest request = request_of(the_case, workload, mode);
  try {
    the_case.predicted = simulate(request, *begin_case(the_case, request));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;  // the case will say so itself
  }
}

}  // namespace mgpu
