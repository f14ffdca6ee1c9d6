// Unions of intervals by sorting, with prefix sums, so that two binary searches answer a window.
#include "lib/profile/intervals.hpp"

#include <algorithm>
#include <utility>

namespace mgpu {

TimeSet::TimeSet(std::vector<Interval> raw) {
  std::erase_if(raw, [](const Interval& i) { return i.end <= i.begin; });
  std::sort(raw.begin(), raw.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  for (const Interval& i : raw) {
    if (!parts_.empty() && i.begin <= parts_.back().end)
      parts_.back().end = std::max(parts_.back().end, i.end);
    else
      parts_.push_back(i);
  }
  before_.reserve(parts_.size() + 1);
  before_.push_back(Nanos{});
  for (const Interval& i : parts_) before_.push_back(before_.back() + (i.end - i.begin));
}

Nanos TimeSet::length_until(Nanos t) const {
  if (parts_.empty()) return Nanos{};
  const auto after = std::upper_bound(parts_.begin(), parts_.end(), t,
                                      [](Nanos v, const Interval& i) { return v < i.begin; });
  if (after == parts_.begin()) return Nanos{};
  const std::size_t last = static_cast<std::size_t>(after - parts_.begin()) - 1;
  return before_[last] + (std::min(t, parts_[last].end) - parts_[last].begin);
}

Nanos TimeSet::covered(const Interval& window) const {
  if (window.end <= window.begin) return Nanos{};
  return length_until(window.end) - length_until(window.begin);
}

Nanos TimeSet::common(const TimeSet& other) const {
  Nanos sum{};
  for (const Interval& i : parts_) sum += other.covered(i);
  return sum;
}

}  // namespace mgpu
