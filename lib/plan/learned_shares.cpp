// Implements the controller between samples.
#include "lib/plan/learned_shares.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mgpu {
namespace {

constexpr std::size_t kWindow = 8;    // number of samples considered; older ones are ignored
constexpr double kWorthwhile = 0.02;  // smaller gains and losses are noise
constexpr double kGap = 0.3;          // fraction of the makespan
constexpr double kSameShares = 0.01;  // fraction of all items: shares that differ less are equal

using Window = std::vector<const SampleShare*>;  // latest first

Window usable(const PlanRequest& request, const History& history) {
  Window window;
  for (auto sample = history.rbegin(); sample != history.rend() && window.size() < kWindow;
       ++sample) {
    const bool complete =
        sample->items.size() == request.devices.size() &&
        sample->busy.size() == request.devices.size() &&
        std::accumulate(sample->items.begin(), sample->items.end(), Items{0}) == request.items;
    if (complete && sample->makespan > Nanos{}) window.push_back(&*sample);
  }
  return window;
}

bool same_shares(const PlanRequest& request, const std::vector<Items>& a,
                 const std::vector<Items>& b) {
  const double most = kSameShares * static_cast<double>(request.items);
  return std::equal(a.begin(), a.end(), b.begin(), [&](Items x, Items y) {
    return std::abs(static_cast<double>(x) - static_cast<double>(y)) <= most;
  });
}

// Returns the shares that the sample began with. Makespans are compared by these: what devices did
// in the end can be the same with good shares and with bad ones that were corrected by moving work.
const std::vector<Items>& begun_with(const SampleShare& sample) {
  return sample.first.size() == sample.items.size() ? sample.first : sample.items;
}

// Returns items/s by device: the median of the last three samples in which the device worked. A
// device that never did gets its estimate, scaled as the estimates of the others are off.
std::vector<double> measured_rates(const Window& window, const std::vector<double>& speeds) {
  std::vector<double> rates(speeds.size(), 0);
  double measured = 0, estimated = 0;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    std::vector<double> seen;
    for (const SampleShare* sample : window) {
      if (seen.size() < 3 && sample->items[i] > 0 && sample->busy[i] > Nanos{}) {
        seen.push_back(static_cast<double>(sample->items[i]) / seconds(sample->busy[i]));
      }
    }
    if (seen.empty()) continue;
    const double newest = seen.front();
    std::sort(seen.begin(), seen.end());
    rates[i] = seen.size() < 3 ? newest : seen[1];
    measured += rates[i];
    estimated += speeds[i];
  }
  for (std::size_t i = 0; i < rates.size(); ++i) {
    if (rates[i] == 0 && estimated > 0) rates[i] = speeds[i] * measured / estimated;
  }
  return rates;
}

// Returns the difference in utilisation between the most and the least busy device.
double gap(const SampleShare& sample, const std::vector<double>& speeds) {
  double longest = 0, least = 1;
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    if (!(speeds[i] > 0)) continue;
    const double utilisation = seconds(sample.busy[i]) / seconds(sample.makespan);
    longest = std::max(longest, utilisation);
    least = std::min(least, utilisation);
  }
  return longest - least;
}

std::vector<double> as_weights(const std::vector<Items>& items) {
  return {items.begin(), items.end()};
}

std::vector<Items> as_items(const PlanRequest& request, const std::vector<double>& rates,
                            double all) {
  std::vector<Items> items;
  for (const double rate : rates)
    items.push_back(static_cast<Items>(static_cast<double>(request.items) * rate / all));
  return items;
}

}  // namespace

std::optional<std::vector<double>> learned_shares(const PlanRequest& request,
                                                  const History& history,
                                                  const std::vector<double>& speeds) {
  const Window window = usable(request, history);
  if (window.empty()) return std::nullopt;
  const SampleShare& last = *window.front();

  Window tried;  // different shares, each with the latest sample that used them
  for (const SampleShare* sample : window) {
    const auto same = [&](const SampleShare* other) {
      return same_shares(request, begun_with(*sample), begun_with(*other));
    };
    if (std::none_of(tried.begin(), tried.end(), same)) tried.push_back(sample);
  }
  const SampleShare& best = **std::min_element(
      tried.begin(), tried.end(),
      [](const SampleShare* a, const SampleShare* b) { return a->makespan < b->makespan; });
  const double bad = seconds(best.makespan) * (1 + kWorthwhile);
  if (seconds(last.makespan) > bad) return as_weights(begun_with(best));

  const std::vector<double> rates = measured_rates(window, speeds);
  const double all = std::accumulate(rates.begin(), rates.end(), 0.0);
  double now = 0;  // predicted time of the last shares at these rates
  for (std::size_t i = 0; i < rates.size(); ++i) {
    if (last.items[i] > 0) now = std::max(now, static_cast<double>(last.items[i]) / rates[i]);
  }
  const double gain = 1 - static_cast<double>(request.items) / all / now;
  if (!(gain > kWorthwhile || gap(last, speeds) > kGap)) return as_weights(begun_with(last));
  const std::vector<Items> proposal = as_items(request, rates, all);
  for (const SampleShare* sample : tried) {
    if (same_shares(request, begun_with(*sample), proposal) && seconds(sample->makespan) > bad)
      return as_weights(begun_with(last));
  }
  return rates;
}

}  // namespace mgpu
