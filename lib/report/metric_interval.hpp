// How well the metrics that are ratios of measured times are known, and which of them cannot be
// true. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/report/record.hpp"

namespace mgpu {

// Medians of the same work differ by less: of 6,115 cases measured on GPUs and CPUs the interval of
// no efficiency lies wholly above 1.05, and of 7 in multi-GPU runs it does above 1.02.
inline constexpr double kSlightNoise = 0.05;

struct MetricInterval {
  double low = 0, high = 0;
};

// Returns the 95 % interval of a metric that is made of measured times: order statistics of its
// values by round, as those of a time are, and the figure itself. With fewer than kFewestRanked
// rounds nothing is known of the noise, and a quarter of the figure is taken to either side. None
// where the metric is undefined, or made of other things.
std::optional<MetricInterval> interval_of(const RunRecord& run, const MetricInfo& metric);

// A figure beyond what it can be at best.
struct DoubtfulMetric {
  const MetricInfo* metric = nullptr;
  double limit = 0;  // what it can be at best
  MetricInterval interval;
  bool slight = false;        // beyond by no more than medians of the same work differ
  bool beyond_noise = false;  // the whole interval is
  std::string reason;         // without figures: a table says it once of several rows
};

// Returns the metrics of a case that are beyond their limits: speedup, efficiency and karp_flatt
// go by the speed-up of a perfect split, roofline_fraction by the measured ceiling.
std::vector<DoubtfulMetric> doubtful_metrics(const RunRecord& run);

// Returns what is wrong with the speed-up of a case that is higher than it can be by more than
// medians of the same work differ; empty where nothing is. `beyond_noise`: only where its interval
// does not explain that either, so that the case must not be ranked.
std::string impossible_speedup(const RunRecord& run, bool beyond_noise);

}  // namespace mgpu
