// The uncertainty of metrics that are ratios of measured times, and which of them are impossible.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/report/record.hpp"

namespace mgpu {

// Medians of the same work differ by less than this share. In 6,115 cases measured on GPUs and CPUs
// no efficiency has its whole interval above 1.05, and 7 of multi-GPU runs have it above 1.02.
inline constexpr double kSlightNoise = 0.05;

struct MetricInterval {
  double low = 0, high = 0;
};

// Returns the 95 % interval of a metric of measured times: order statistics of its values by round,
// as for times, extended to the figure itself. With fewer than kFewestRanked rounds the noise is
// unknown, and the interval is a quarter of the figure to either side. None if the metric is
// undefined, or not one of times.
std::optional<MetricInterval> interval_of(const RunRecord& run, const MetricInfo& metric);

// A figure above its theoretical limit.
struct DoubtfulMetric {
  const MetricInfo* metric = nullptr;
  double limit = 0;  // theoretical limit
  MetricInterval interval;
  bool slight = false;        // exceeds it by no more than medians of the same work differ
  bool beyond_noise = false;  // the whole interval exceeds it
  std::string reason;         // without figures, so that a table can say it once for several rows
};

// Returns the metrics of a case that exceed their limits: for speedup, efficiency and karp_flatt
// the speed-up of a perfect split, for roofline_fraction the measured ceiling.
std::vector<DoubtfulMetric> doubtful_metrics(const RunRecord& run);

// Returns why the efficiency is above 100 %; empty if it is not, or by less than tables show.
std::string why_above_ideal(const RunRecord& run);

// Returns what is wrong with a speed-up that exceeds its limit by more than medians of the same
// work differ; else an empty text. `beyond_noise`: only if its interval does not explain it either,
// so that the case must not be ranked.
std::string impossible_speedup(const RunRecord& run, bool beyond_noise);

}  // namespace mgpu
