// Minimax by water-filling: the amounts of work for several devices with which the last one ends as
// early as possible, if each needs a fixed time and a time per item. Pure arithmetic on real
// numbers; granules are in lib/plan/apportion.hpp.
#pragma once

#include <limits>
#include <span>
#include <vector>

namespace mgpu {

struct WaterTerm {
  double start = 0;     // when it could begin, or its one-time cost: T(w) = start + w * per_item
  double per_item = 1;  // > 0
  double most = std::numeric_limits<double>::infinity();
};

struct WaterLevel {
  double end = 0;  // when the last device ends
  std::vector<double> amounts;
};

// Minimises `end` subject to start_i + per_item_i * w_i <= end, sum w_i = work, 0 <= w_i <= most_i.
// A device whose start is at or beyond the end gets nothing. Divisible-load reasoning (Bharadwaj,
// Ghose, Robertazzi, 2003): all that take part end together, so end = (work + sum start/per_item) /
// sum 1/per_item. If the devices together cannot take all of the work, each gets its most.
WaterLevel water_fill(double work, std::span<const WaterTerm> terms);

}  // namespace mgpu
