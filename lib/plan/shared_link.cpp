#include "lib/plan/shared_link.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace mgpu {
namespace {

double per_ns(double bytes_per_s) {
  return bytes_per_s > 0 ? bytes_per_s * 1e-9 : std::numeric_limits<double>::infinity();
}

}  // namespace

SharedLink::SharedLink(LinkRate capacity) : capacity_(std::move(capacity)) {}

std::size_t SharedLink::class_for(double own) {
  const double limit = per_ns(own);
  const auto after = std::lower_bound(
      by_own_.begin(), by_own_.end(), limit,
      [&](std::size_t index, double value) { return classes_[index].own < value; });
  if (after != by_own_.end() && classes_[*after].own == limit) return *after;
  by_own_.insert(after, classes_.size());
  classes_.push_back({limit, 0, 0, {}});
  return classes_.size() - 1;
}

bool SharedLink::is_limited(std::size_t flow_class) const {
  return capacity_.limited() || std::isfinite(classes_[flow_class].own);
}

// Adds what was carried since the last call; rates have not changed since then.
void SharedLink::advance() {
  if (advanced_to_ == now_) return;
  const auto passed = static_cast<double>((now_ - advanced_to_).count());
  advanced_to_ = now_;
  if (active_ == 0) return;
  for (const std::size_t index : busy_) classes_[index].carried += classes_[index].rate * passed;
}

void SharedLink::start(std::size_t flow_class, double bytes, std::uint32_t id) {
  advance();
  Class& mine = classes_[flow_class];
  if (mine.flows.empty()) {
    mine.carried = 0;  // small numbers keep their precision
    const auto after = std::lower_bound(
        busy_.begin(), busy_.end(), mine.own,
        [&](std::size_t index, double value) { return classes_[index].own < value; });
    busy_.insert(after, flow_class);
  }
  mine.flows.push_back({mine.carried + bytes, id});
  std::push_heap(mine.flows.begin(), mine.flows.end(),
                 [](const Flow& a, const Flow& b) { return a.ends_at > b.ends_at; });
  ++active_;
  stale_ = true;
}

// Rounds to the nearest nanosecond, as all times here: a flow is over when less than half of one is
// left.
Nanos SharedLink::Class::rest() const {
  return from_seconds(std::max(0.0, (flows.front().ends_at - carried) / rate) * 1e-9);
}

void SharedLink::refresh() {
  stale_ = false;
  std::size_t flows = active_;
  next_ = Nanos::max();
  if (flows == 0) return;
  double left = per_ns(capacity_.of(active_));
  for (const std::size_t index : busy_) {
    Class& each = classes_[index];
    each.rate = std::min(each.own, left / static_cast<double>(flows));
    flows -= each.flows.size();
    left -= each.rate * static_cast<double>(each.flows.size());
    next_ = std::min(next_, now_ + each.rest());
  }
}

Nanos SharedLink::next_end() {
  if (stale_) refresh();
  return next_;
}

void SharedLink::advance(Nanos now, std::vector<std::uint32_t>& ended) {
  const bool ends = now >= next_end();
  now_ = now;
  if (!ends) return;
  advance();
  // Also if rounding leaves a flow a last nanosecond: its end must be found again, or time would
  // stop.
  stale_ = true;
  for (const std::size_t index : busy_) {
    Class& each = classes_[index];
    while (!each.flows.empty() && each.rest() == Nanos{}) {
      ended.push_back(each.flows.front().id);
      std::pop_heap(each.flows.begin(), each.flows.end(),
                    [](const Flow& a, const Flow& b) { return a.ends_at > b.ends_at; });
      each.flows.pop_back();
      --active_;
    }
  }
  std::erase_if(busy_, [&](std::size_t index) { return classes_[index].flows.empty(); });
}

}  // namespace mgpu
