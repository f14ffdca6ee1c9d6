// Implements closed forms over estimates.
#include "lib/plan/cost_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "lib/plan/ledger.hpp"

namespace mgpu {
namespace {

// Returns the items per second of a link; infinite if it is not known or has nothing to carry.
double link_rate(double bytes_per_s, double bytes_per_item) {
  return bytes_per_s > 0 && bytes_per_item > 0 ? bytes_per_s / bytes_per_item
                                               : std::numeric_limits<double>::infinity();
}

double transfer_rate(const PlanRequest& request, const DeviceEstimate& device) {
  if (!request.mode.transfers()) return std::numeric_limits<double>::infinity();
  return std::min(link_rate(device.up, request.cost.in_bytes),
                  link_rate(device.down, request.cost.out_bytes));
}

bool is_known(double rate) { return std::isfinite(rate) && rate > 0; }

}  // namespace

double pipelined_rate(const PlanRequest& request, const DeviceEstimate& device) {
  return is_known(device.items_per_s) ? std::min(device.items_per_s, transfer_rate(request, device))
                                      : 0;
}

Speeds estimated_speeds(const PlanRequest& request) {
  const std::vector<bool> takes_part = taking_part(request);
  Speeds speeds;
  double rates = 0, scores = 0,
         slowest = std::numeric_limits<double>::infinity();  // of the devices with a known rate
  double least_score = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < request.devices.size(); ++i) {
    const DeviceEstimate& device = request.devices[i];
    const double rate = takes_part[i] ? pipelined_rate(request, device) : 0;
    speeds.rates.push_back(rate);
    if (takes_part[i] && device.score > 0) least_score = std::min(least_score, device.score);
    if (!(rate > 0)) continue;
    speeds.timed = true;
    slowest = std::min(slowest, rate);
    if (!(device.score > 0)) continue;
    rates += rate;
    scores += device.score;
  }
  for (std::size_t i = 0; i < request.devices.size(); ++i) {
    if (!takes_part[i] || speeds.rates[i] > 0) continue;
    const double score = request.devices[i].score;
    if (!speeds.timed) {
      speeds.rates[i] = score > 0 ? score : std::isfinite(least_score) ? least_score : 1;
    } else {
      speeds.rates[i] = scores > 0 && score > 0 ? score * (rates / scores) : slowest;
    }
  }
  return speeds;
}

Nanos slice_overhead(const PlanRequest& request, const DeviceEstimate& device) {
  const bool transfers_decide = transfer_rate(request, device) < device.items_per_s;
  return std::max(Nanos{}, transfers_decide ? device.transfer : device.launch);
}

double items_that_fill(const DeviceEstimate& device) {
  return seconds(device.minimum_slice - device.launch) * device.items_per_s;
}

double pieces_that_fill(const DeviceEstimate& device, double items, double most) {
  const double fills = items_that_fill(device);
  return fills > 0 ? std::clamp(std::floor(items / fills), 1.0, most) : most;
}

double launch_share(std::span<const double> rates, double per_difference, double most) {
  double slowest = std::numeric_limits<double>::infinity(), fastest = 0;
  for (const double rate : rates) {
    if (!(rate > 0)) continue;
    slowest = std::min(slowest, rate);
    fastest = std::max(fastest, rate);
  }
  return fastest > 0 ? std::clamp((fastest / slowest - 1) * per_difference, 0.02, most) : 0.02;
}

double average_rate(std::span<const double> rates) {
  double all = 0, count = 0;
  for (const double rate : rates) {
    if (!(rate > 0)) continue;
    all += rate;
    ++count;
  }
  return count > 0 ? all / count : 0;
}

double pieces_worth(double overhead, double time, double share, double most) {
  if (!(overhead > 0)) return most;
  return std::clamp(1 + std::floor(share * time / overhead * (1 + 1e-9)), 1.0, most);
}

Items memory_holds(const PlanRequest& request, const DeviceEstimate& device) {
  Items holds = slice_limit(request, device.fits);
  const double per_item = request.cost.in_bytes + request.cost.out_bytes;
  if (device.free_memory > 0 && per_item > 0) {
    const double free =
        static_cast<double>(device.free_memory) - static_cast<double>(request.cost.replicated);
    const double items = std::max(0.0, free / per_item);
    if (items < static_cast<double>(holds)) holds = static_cast<Items>(items);
  }
  return holds >= request.items ? holds : round_down(holds, request.granularity);
}

}  // namespace mgpu
