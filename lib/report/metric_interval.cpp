#include "lib/report/metric_interval.hpp"

#include <algorithm>
#include <cmath>

#include "lib/report/comparison.hpp"
#include "lib/report/run_groups.hpp"

namespace mgpu {

namespace {

// Ratios of times that were measured one by one, with their noise.
constexpr std::optional<double> Metrics::*kOfTimes[] = {
    &Metrics::speedup,          &Metrics::ideal_speedup, &Metrics::efficiency,
    &Metrics::karp_flatt,       &Metrics::share_error,   &Metrics::prediction_error,
    &Metrics::roofline_fraction};

constexpr double kUnknownNoise = 0.25;  // share of the figure, with too few rounds
constexpr double kRounding = 1e-9;

// Returns the metric of each single round.
std::vector<double> values_by_round(const RunRecord& run, const MetricInfo& metric) {
  std::vector<double> values;
  std::vector<DeviceParts> parts(run.per_device.size());
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i].items = run.per_device[i].parts.items;
  MetricsInput input;
  input.alone.resize(parts.size());
  input.predicted = run.plan.predicted;
  for (std::size_t k = 0; k < run.samples.size(); ++k) {
    input.time = run.samples[k];
    if (input.time <= Nanos{}) continue;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::vector<Nanos>& alone = run.per_device[i].alone_samples;
      input.alone[i] = k < alone.size() ? std::optional(alone[k]) : std::nullopt;
    }
    if (run.metrics.roofline_fraction)
      input.roofline_fraction =
          *run.metrics.roofline_fraction * (seconds(run.time.median) / seconds(input.time));
    const std::optional<double> value = compute_metrics({}, parts, input).*metric.value;
    if (value && std::isfinite(*value)) values.push_back(*value);
  }
  return values;
}

double slight_of(const RunRecord& run) {
  const double known = run.noise_floor.value_or(0);
  return known <= kMostNoise ? std::max(kSlightNoise, known) : kSlightNoise;
}

// Adds a metric that exceeds its limit, like `like`, if the case has it.
void add(std::vector<DoubtfulMetric>& all, const RunRecord& run, const char* name, double limit,
         const DoubtfulMetric& like) {
  const MetricInfo* metric = find_metric(name);
  const auto interval = interval_of(run, *metric);
  if (!interval) return;
  all.push_back(like);
  all.back().metric = metric;
  all.back().limit = limit;
  all.back().interval = *interval;
}

// Returns how far a metric whose limit is 1 exceeds it; none if it does not.
std::optional<DoubtfulMetric> beyond_one(const RunRecord& run, const char* name,
                                         const char* within_noise, const char* beyond_noise) {
  const MetricInfo* metric = find_metric(name);
  const std::optional<double> value = run.metrics.*metric->value;
  if (!value || !std::isfinite(*value) || *value <= 1 + kRounding) return std::nullopt;
  const double most = 1 + slight_of(run);
  DoubtfulMetric doubt;
  doubt.interval = *interval_of(run, *metric);
  doubt.slight = *value <= most;
  doubt.beyond_noise = doubt.interval.low > most;
  doubt.reason = doubt.beyond_noise ? beyond_noise : within_noise;
  return doubt;
}

std::optional<DoubtfulMetric> doubt_of_speedup(const RunRecord& run) {
  return beyond_one(
      run, "efficiency",
      "above what a perfect split gives, within the noise of the times it is made of",
      "above what a perfect split gives by more than noise: devices were slower alone "
      "than they are, or shares fit a cache that the whole does not");
}

}  // namespace

std::optional<MetricInterval> interval_of(const RunRecord& run, const MetricInfo& metric) {
  if (std::find(std::begin(kOfTimes), std::end(kOfTimes), metric.value) == std::end(kOfTimes))
    return std::nullopt;
  const std::optional<double> figure = run.metrics.*metric.value;
  if (!figure || !std::isfinite(*figure)) return std::nullopt;
  const bool of_set = metric.value == &Metrics::speedup || metric.value == &Metrics::efficiency ||
                      metric.value == &Metrics::ideal_speedup;
  if (of_set && run.per_device.size() == 1 && *figure == 1)
    return MetricInterval{1, 1};  // exact by definition
  std::vector<double> values = values_by_round(run, metric);
  if (values.size() < kFewestRanked) {
    const double half = kUnknownNoise * std::abs(*figure);
    return MetricInterval{*figure - half, *figure + half};
  }
  std::sort(values.begin(), values.end());
  const Ranks ranks = median_ci95_ranks(values.size());
  return MetricInterval{std::min(values[ranks.low], *figure),
                        std::max(values[ranks.high], *figure)};
}

std::vector<DoubtfulMetric> doubtful_metrics(const RunRecord& run) {
  std::vector<DoubtfulMetric> all;
  if (run.status != Status::ok) return all;
  if (const auto doubt = doubt_of_speedup(run)) {
    add(all, run, "speedup", run.metrics.ideal_speedup.value_or(1), *doubt);
    add(all, run, "efficiency", 1, *doubt);
    add(all, run, "karp_flatt", 0, *doubt);
  }
  if (const auto doubt = beyond_one(
          run, "roofline_fraction", "above the measured ceiling, within the noise of both",
          "above the measured ceiling by more than noise: data stays in caches, or the device is "
          "faster than when it was calibrated (mgpu-bench calibrate --recalibrate)"))
    add(all, run, "roofline_fraction", 1, *doubt);
  return all;
}

std::string why_above_ideal(const RunRecord& run) {
  constexpr double kLeastShown = 1.0005;
  if (run.status != Status::ok || run.metrics.efficiency.value_or(0) < kLeastShown) return "";
  std::string impossible = impossible_speedup(run, false);
  return impossible.empty()
             ? "above 100 % of the ideal, by no more than medians of the same work differ"
             : impossible;
}

std::string impossible_speedup(const RunRecord& run, bool beyond_noise) {
  if (run.status != Status::ok) return "";
  const auto doubt = doubt_of_speedup(run);
  if (!doubt || doubt->slight || (beyond_noise && !doubt->beyond_noise)) return "";
  return "speed-up and efficiency are " + doubt->reason;
}

}  // namespace mgpu
