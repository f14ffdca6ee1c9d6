// Rates from finished slices.
#include "lib/plan/pace.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mgpu {

Pace::Pace(const PlanRequest& request) {
  const Speeds speeds = estimated_speeds(request);
  timed_ = measured_before_ = speeds.timed;
  double slowest = std::numeric_limits<double>::infinity();
  for (const double rate : speeds.rates) slowest = rate > 0 ? std::min(slowest, rate) : slowest;
  for (std::size_t i = 0; i < request.devices.size(); ++i) {
    DevicePace& pace = paces_.emplace_back();
    pace.estimate = speeds.rates[i];
    pace.overhead = seconds(slice_overhead(request, request.devices[i]));
    // One that has no part in the plan may still get one, when the others are lost: without a rate it counts as the slowest.
    if (!(pace.estimate > 0) && timed_) pace.estimate = pipelined_rate(request, request.devices[i]);
    if (!(pace.estimate > 0)) pace.estimate = std::isfinite(slowest) ? slowest : 1;
  }
}

void Pace::issuing(const Ledger& ledger, DeviceIndex device) {
  DevicePace& pace = paces_[device.value];
  if (ledger.flights(device) == 0) pace.clock = std::max(pace.clock, now_);  // it waited until now
}

void Pace::finished(DeviceIndex device, const Slice& slice, Nanos busy) {
  DevicePace& pace = paces_[device.value];
  const double took = std::max(seconds(busy), 1e-9);
  pace.clock += took;
  now_ = std::max(now_, pace.clock);
  if (pace.seen > 0) {
    shown_sum_ -= shown(pace);
    estimate_sum_ -= pace.estimate;
  }
  // A slice of which most was overhead tells little about the rate; then the overhead is taken for a part of it.
  const double working = took > 2 * pace.overhead ? took - pace.overhead : took;
  pace.recent[pace.seen++ % 3] = static_cast<double>(slice.size()) / working;
  timed_ = true;
  shown_sum_ += shown(pace);
  estimate_sum_ += pace.estimate;
}

void Pace::joined(DeviceIndex device) {
  if (device.value < paces_.size()) return;
  DevicePace newcomer;  // the average of the others
  newcomer.estimate = 0;
  for (const DevicePace& other : paces_) {
    newcomer.estimate += other.estimate / static_cast<double>(paces_.size());
    newcomer.overhead += other.overhead / static_cast<double>(paces_.size());
  }
  paces_.resize(device.value + 1, newcomer);
}

// The middle of the last three; of two the faster, as the first slice of a sample bears what only happens once.
double Pace::shown(const DevicePace& pace) const {
  const auto& [a, b, c] = pace.recent;
  if (pace.seen == 1) return a;
  if (pace.seen == 2) return std::max(a, b);
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

double Pace::rate(DeviceIndex device) const {
  const DevicePace& pace = paces_[device.value];
  if (pace.seen > 1 || (pace.seen == 1 && !measured_before_)) return shown(pace);
  const double others_shown = shown_sum_ - (pace.seen == 1 ? shown(pace) : 0);
  const double others_estimate = estimate_sum_ - (pace.seen == 1 ? pace.estimate : 0);
  const bool others = others_estimate > estimate_sum_ * 1e-9 && others_shown > shown_sum_ * 1e-9;
  if (!others) return pace.seen == 1 ? shown(pace) : pace.estimate;
  const double expected = pace.estimate * (others_shown / others_estimate);
  return pace.seen == 1 ? std::max(shown(pace), expected) : expected;
}

double Pace::end(const Ledger& ledger, DeviceIndex device) const {
  const std::size_t flights = ledger.flights(device);
  if (flights == 0) return now_;
  const DevicePace& pace = paces_[device.value];
  const double takes = static_cast<double>(ledger.in_flight(device)) / rate(device);
  return std::max(now_, pace.clock + takes + (timed_ ? pace.overhead * static_cast<double>(flights) : 0));
}

WaterLevel Pace::common_end(const Ledger& ledger, double items) const {
  std::vector<WaterTerm> terms;
  terms.reserve(paces_.size());
  for (std::uint32_t i = 0; i < paces_.size(); ++i) {
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
