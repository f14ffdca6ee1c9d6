// Computes rates from finished slices.
#include "lib/plan/observed_rates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mgpu {

ObservedRates::ObservedRates(const PlanRequest& request) {
  const Speeds speeds = estimated_speeds(request);
  timed_ = measured_before_ = speeds.timed;
  double slowest = std::numeric_limits<double>::infinity();
  for (const double rate : speeds.rates) slowest = rate > 0 ? std::min(slowest, rate) : slowest;
  for (std::size_t i = 0; i < request.devices.size(); ++i) {
    DeviceRate& own = devices_.emplace_back();
    own.estimate = speeds.rates[i];
    own.overhead = seconds(slice_overhead(request, request.devices[i]));
    // A device without a part in the plan may get one when the others are lost: without a rate it
    // counts as the slowest.
    if (!(own.estimate > 0) && timed_) own.estimate = pipelined_rate(request, request.devices[i]);
    if (!(own.estimate > 0)) own.estimate = std::isfinite(slowest) ? slowest : 1;
    best_estimate_ = std::max(best_estimate_, own.estimate);
  }
}

void ObservedRates::issuing(const Ledger& ledger, DeviceIndex device) {
  DeviceRate& own = devices_[device.value];
  if (ledger.flights(device) == 0) own.clock = std::max(own.clock, now_);  // it waited until now
}

void ObservedRates::finished(DeviceIndex device, const Slice& slice, Nanos busy) {
  DeviceRate& own = devices_[device.value];
  const double took = std::max(seconds(busy), 1e-9);
  own.clock += took;
  now_ = std::max(now_, own.clock);
  if (own.seen > 0) {
    shown_sum_ -= shown(own);
    estimate_sum_ -= own.estimate;
  }
  // A slice that was mostly overhead shows little about the rate; the overhead is then counted as
  // part of it.
  const double working = took > 2 * own.overhead ? took - own.overhead : took;
  const double rate = static_cast<double>(slice.size()) / working;
  own.recent[own.seen++ % 3] = rate;
  fastest_ = std::max(fastest_, rate);
  most_above_ = std::max(most_above_, rate / own.estimate);
  timed_ = true;
  shown_sum_ += shown(own);
  estimate_sum_ += own.estimate;
}

void ObservedRates::joined(DeviceIndex device) {
  if (device.value < devices_.size()) return;
  DeviceRate newcomer;  // gets the average of the others
  newcomer.estimate = 0;
  for (const DeviceRate& other : devices_) {
    newcomer.estimate += other.estimate / static_cast<double>(devices_.size());
    newcomer.overhead += other.overhead / static_cast<double>(devices_.size());
  }
  devices_.resize(device.value + 1, newcomer);
}

// Returns the median of the last three; of two the faster, as the first slice of a sample includes
// one-time costs.
double ObservedRates::shown(const DeviceRate& own) const {
  const auto& [a, b, c] = own.recent;
  if (own.seen == 1) return a;
  if (own.seen == 2) return std::max(a, b);
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

double ObservedRates::rate(DeviceIndex device) const {
  const DeviceRate& own = devices_[device.value];
  if (own.seen > 1 || (own.seen == 1 && !measured_before_)) return shown(own);
  const double others_shown = shown_sum_ - (own.seen == 1 ? shown(own) : 0);
  const double others_estimate = estimate_sum_ - (own.seen == 1 ? own.estimate : 0);
  const bool others = others_estimate > estimate_sum_ * 1e-9 && others_shown > shown_sum_ * 1e-9;
  if (!others) return own.seen == 1 ? shown(own) : own.estimate;
  const double expected = own.estimate * (others_shown / others_estimate);
  return own.seen == 1 ? std::max(shown(own), expected) : expected;
}

double ObservedRates::end(const Ledger& ledger, DeviceIndex device) const {
  const std::size_t flights = ledger.flights(device);
  if (flights == 0) return now_;
  const DeviceRate& own = devices_[device.value];
  const double takes = static_cast<double>(ledger.in_flight(device)) / rate(device);
  return std::max(now_,
                  own.clock + takes + (timed_ ? own.overhead * static_cast<double>(flights) : 0));
}

WaterLevel ObservedRates::common_end(const Ledger& ledger, double items) const {
  std::vector<WaterTerm> terms;
  terms.reserve(devices_.size());
  for (std::uint32_t i = 0; i < devices_.size(); ++i) {
    const DeviceIndex device{i};
    WaterTerm& term = terms.emplace_back();
    if (!ledger.is_able(device)) {
      term.most = 0;
      continue;
    }
    term = {end(ledger, device) + (timed_ ? overhead(device) : 0), 1 / rate(device)};
  }
  return water_fill(items, terms);
}

}  // namespace mgpu
