// Judges a history: where the level of a series changed, whether its newest run is suspect, and
// which series changed together.
#pragma once

#include <optional>
#include <string>

#include "lib/history/history.hpp"
#include "lib/report/trend_json.hpp"

namespace mgpu {

struct TrendOptions {
  const MetricInfo* metric = nullptr;  // null: the median time
  double floor = 0.02;                 // smaller relative shifts are ignored
  std::string since;                   // date or begin of one; changes before it are ignored
  bool disturbed = false;              // runs with warnings or faults count, too
  bool points = false;                 // fills TrendSeries::points and environment
};

// The newest 1000 runs of a series count. Changes that are no discovery at a rate of 1 % false ones
// over all series are dropped (Benjamini and Hochberg).
TrendReport find_trends(const ResultHistory& history, const TrendOptions& options);

}  // namespace mgpu
