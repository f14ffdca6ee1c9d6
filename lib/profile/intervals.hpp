// Sets of time intervals: union, length, intersection. Pure; O(n log n) to build by sorting, O(log
// n) per query.
#pragma once

#include <span>
#include <vector>

#include "lib/base/units.hpp"

namespace mgpu {

struct Interval {  // [begin, end)
  Nanos begin{}, end{};
};

// A union of intervals, stored as disjoint ones in order. Empty and reversed intervals are ignored.
class TimeSet {
 public:
  TimeSet() = default;
  explicit TimeSet(std::vector<Interval> raw);

  Nanos length() const { return before_.empty() ? Nanos{} : before_.back(); }
  Nanos covered(const Interval& window) const;  // how much of the window the set covers
  Nanos common(const TimeSet& other) const;     // length of the intersection
  std::span<const Interval> parts() const { return parts_; }

 private:
  Nanos length_until(Nanos t) const;
  std::vector<Interval> parts_;
  std::vector<Nanos> before_;  // before_[k]: length of the first k parts; one longer than parts_
};

}  // namespace mgpu
