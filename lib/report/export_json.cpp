// JSON for other tools. What each of them reads, and what it stumbles over, is said where it
// matters. Text formats are in exports.cpp.
#include "lib/report/export_json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/report/case_name.hpp"
#include "lib/report/fault_words.hpp"
#include "lib/report/json_build.hpp"
#include "lib/report/json_text.hpp"
#include "lib/report/metric_interval.hpp"

namespace mgpu {

namespace {

std::string fact(const Report& report, const std::string& name) {
  const auto found = report.environment.find(name);
  return found == report.environment.end() ? "" : found->second;
}

// Bencher refuses a file without "caches"; compare.py one whose json_schema_version is not 1.
// Everything of our own must be a string.
JsonValue google_context(const Report& report) {
  const std::string cores = fact(report, "cores");
  std::string devices;
  for (const DeviceRecord& d : report.devices)
    devices += (devices.empty() ? "" : ", ") + d.device.id + " " + d.device.name;
  JsonValue context = json_object();
  if (!report.started.empty()) put(context, "date", report.started);
  put(context, "host_name", fact(report, "host"));
  put(context, "executable", "mgpu-bench");
  if (!cores.empty() && cores.find_first_not_of("0123456789") == std::string::npos &&
      cores.size() < 10)
    put(context, "num_cpus", std::stoi(cores));
  put(context, "caches", json_list());
  put(context, "load_avg", json_list());
  put(context, "library_build_type", "release");
  put(context, "json_schema_version", 1);
  put(context, "mgpu_bench_version", report.tool.version);
  put(context, "mgpu_bench_git", report.tool.git);
  put(context, "devices", devices);
  put(context, "cpu_time", "equal to real_time: what the host's processor did is not measured");
  return context;
}

// Returns the entry of a sample, or of the median if there is no `sample`, with its keys in the
// order of Google Benchmark's own writer. The name ends in /real_time, by which Conbench knows
// which time counts.
JsonValue google_entry(const RunRecord& run, std::size_t family, std::optional<std::size_t> sample,
                       double ns) {
  const std::string name = series_name(run) + "/real_time";
  JsonValue j = json_object({{"name", sample ? name : name + "_median"},
                             {"family_index", family},
                             {"per_family_instance_index", 0},
                             {"run_name", name},
                             {"run_type", sample ? "iteration" : "aggregate"},
                             {"repetitions", run.samples.size()}});
  if (sample) put(j, "repetition_index", *sample);
  put(j, "threads", 1);
  if (!sample) put(j, "aggregate_name", "median");
  if (!sample) put(j, "aggregate_unit", "time");
  put(j, "iterations", sample ? 1 : run.samples.size());
  put(j, "real_time", ns);
  put(j, "cpu_time", ns);
  put(j, "time_unit", "ns");
  if (run.work.ops > 0 && ns > 0) put(j, "items_per_second", run.work.ops / ns * 1e9);
  return j;
}

// Returns a figure that other tools may keep: finite, since NaN and Infinity are no JSON and node
// throws the whole file away, and not beyond what it can be by more than noise.
std::optional<double> sound_figure(const RunRecord& run, const MetricInfo& metric) {
  const std::optional<double> value = run.metrics.*metric.value;
  if (!value || !std::isfinite(*value)) return std::nullopt;
  for (const DoubtfulMetric& doubt : doubtful_metrics(run))
    if (doubt.metric == &metric && doubt.beyond_noise) return std::nullopt;
  return value;
}

void add_counters(const RunRecord& run, JsonValue& entry) {
  for (const MetricInfo& metric : all_metrics())
    if (const auto value = sound_figure(run, metric)) put(entry, metric.name, *value);
  std::string label = fmt::format("{} on {} devices", strategy_label(run), devices_text(run));
  for (const std::string& note : fault_notes(run)) label += "; " + note;
  for (const DoubtfulMetric& doubt : doubtful_metrics(run))
    label += fmt::format("; {}: {}", doubt.metric->name, doubt.reason);
  put(entry, "label", label);
}

double median_ns(const RunRecord& run) { return static_cast<double>(run.time.median.count()); }

template <typename F>
void each_ok(const Report& report, F f) {
  for (const RunRecord& run : report.runs)
    if (run.status == Status::ok && run.time.n > 0) f(run);
}

struct Measure {
  const char* slug;  // Bencher's: latency and throughput are built in
  double value;
  std::optional<std::pair<double, double>> bounds = {};
};

std::vector<Measure> measures(const RunRecord& run) {
  std::vector<Measure> all;
  const double low = static_cast<double>(run.time.ci95_low.count()),
               high = static_cast<double>(run.time.ci95_high.count());
  const double ns = median_ns(run);
  all.push_back({"latency", ns, std::pair{low, high}});
  if (run.rate > 0 && low > 0)
    all.push_back({"throughput", run.rate, std::pair{run.rate * ns / high, run.rate * ns / low}});
  else if (run.rate > 0)
    all.push_back({"throughput", run.rate});
  for (const char* name : {"speedup", "efficiency"}) {
    const MetricInfo& metric = *find_metric(name);
    const auto value = sound_figure(run, metric);
    if (!value) continue;
    const auto interval = interval_of(run, metric);
    all.push_back({name, *value, std::pair{interval->low, interval->high}});
  }
  if (const auto v = run.metrics.imbalance_percent; v && std::isfinite(*v))
    all.push_back({"imbalance-percent", *v});
  return all;
}

}  // namespace

// Google Benchmark writes the same with --benchmark_repetitions: every sample, then the median.
std::string export_googlecpp(const Report& report) {
  JsonValue entries = json_list();
  std::size_t family = 0;
  each_ok(report, [&](const RunRecord& run) {
    for (std::size_t k = 0; k < run.samples.size(); ++k)
      append(entries, google_entry(run, family, k, static_cast<double>(run.samples[k].count())));
    JsonValue median = google_entry(run, family++, std::nullopt, median_ns(run));
    add_counters(run, median);
    append(entries, std::move(median));
  });
  return json_text(
      json_object({{"context", google_context(report)}, {"benchmarks", std::move(entries)}}));
}

std::string export_bmf(const Report& report) {
  JsonValue out = json_object();
  each_ok(report, [&](const RunRecord& run) {
    const std::string name = series_name(run);
    for (const Measure& m : measures(run)) {
      JsonValue one = json_object({{"value", m.value}});
      if (m.bounds) {
        put(one, "lower_value", m.bounds->first);
        put(one, "upper_value", m.bounds->second);
      }
      put_inside(out, name, m.slug, std::move(one));
    }
  });
  return json_text(out);
}

}  // namespace mgpu
