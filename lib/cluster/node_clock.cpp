#include "lib/cluster/node_clock.hpp"

#include <algorithm>
#include <cmath>

namespace mgpu {
namespace {

ClockOffset bounds_by(const ClockExchange& exchange, Nanos there) {
  const double apart = std::abs(static_cast<double>((there - exchange.there).count()));
  const Nanos drift{static_cast<std::int64_t>(std::ceil(apart * NodeClock::kMostDrift))};
  return {exchange.sent - exchange.there - drift, exchange.received - exchange.there + drift};
}

}  // namespace

void NodeClock::add(const ClockExchange& exchange) {
  exchanges_.push_back(exchange);
  if (exchanges_.size() > kKept) exchanges_.pop_front();
}

std::optional<ClockOffset> NodeClock::at(Nanos there) const {
  if (exchanges_.empty()) return std::nullopt;
  ClockOffset all = bounds_by(exchanges_.back(), there);
  for (const ClockExchange& exchange : exchanges_) {
    const ClockOffset one = bounds_by(exchange, there);
    all.low = std::max(all.low, one.low);
    all.high = std::min(all.high, one.high);
  }
  return all.low <= all.high ? all : bounds_by(exchanges_.back(), there);
}

std::optional<ClockOffset> NodeClock::newest() const {
  return exchanges_.empty() ? std::nullopt : at(exchanges_.back().there);
}

ClockProbe NodeClock::here(const ClockProbe& probe) const {
  ClockProbe mine = probe;
  if (const auto before = at(probe.host_before)) mine.host_before += before->low;
  if (const auto after = at(probe.host_after)) mine.host_after += after->high;
  return mine;
}

}  // namespace mgpu
