// JSON for other tools. What each of them reads, and what it stumbles over, is said where it
// matters. Text formats are in exports.cpp.
#include "lib/report/export_json.hpp"

#include <fmt/format.h>

#include <cmath>
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

// Keys in the order of Google Benchmark's own writer. The name ends in /real_time, by which
// Conbench knows which time counts.
JsonValue google_entry(const RunRecord& run, std::size_t family, std::size_t repetitions,
                       std::size_t repetition, double ns) {
  const std::string name = series_name(run) + "/real_time";
  JsonValue j = json_object({{"name", name},
                             {"family_index", family},
                             {"per_family_instance_index", 0},
                             {"run_name", name},
                             {"run_type", "iteration"},
                             {"repetitions", repetitions},
                             {"repetition_index", repetition},
                             {"threads", 1},
                             {"iterations", 1},
                             {"real_time", ns},
                             {"cpu_time", ns},
                             {"time_unit", "ns"}});
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
  const char* name;  // in words, for dashboards
  const char* slug;  // Bencher's: latency and throughput are built in
  const char* unit;
  bool bigger_is_better;
  double value;
  std::optional<std::pair<double, double>> bounds = {};
};

std::vector<Measure> measures(const RunRecord& run) {
  std::vector<Measure> all;
  const double low = static_cast<double>(run.time.ci95_low.count()),
               high = static_cast<double>(run.time.ci95_high.count());
  const double ns = median_ns(run);
  all.push_back({"time", "latency", "ns", false, ns, std::pair{low, high}});
  if (run.rate > 0 && low > 0)
    all.push_back({"rate", "throughput", run.rate_unit.c_str(), true, run.rate,
                   std::pair{run.rate * ns / high, run.rate * ns / low}});
  else if (run.rate > 0)
    all.push_back({"rate", "throughput", run.rate_unit.c_str(), true, run.rate});
  for (const char* name : {"speedup", "efficiency"}) {
    const MetricInfo& metric = *find_metric(name);
    const auto value = sound_figure(run, metric);
    if (!value) continue;
    const auto interval = interval_of(run, metric);
    all.push_back(
        {name, name, metric.unit, true, *value, std::pair{interval->low, interval->high}});
  }
  if (const auto v = run.metrics.imbalance_percent; v && std::isfinite(*v))
    all.push_back({"imbalance", "imbalance-percent", "%", false, *v});
  return all;
}

}  // namespace

// github-action-benchmark takes every entry for a series of its own and the first of equal names:
// one a case, no aggregates.
std::string export_googlecpp(const Report& report, bool samples) {
  JsonValue entries = json_list();
  std::size_t family = 0;
  each_ok(report, [&](const RunRecord& run) {
    const std::size_t repetitions = samples ? run.samples.size() : 1;
    for (std::size_t k = 0; k < repetitions; ++k) {
      JsonValue entry =
          google_entry(run, family, repetitions, k,
                       samples ? static_cast<double>(run.samples[k].count()) : median_ns(run));
      add_counters(run, entry);
      append(entries, std::move(entry));
    }
    ++family;
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

std::string export_gha(const Report& report, bool bigger) {
  JsonValue out = json_list();
  each_ok(report, [&](const RunRecord& run) {
    for (const Measure& m : measures(run)) {
      if (m.bigger_is_better != bigger) continue;
      JsonValue entry = json_object(
          {{"name", series_name(run) + " " + m.name}, {"unit", m.unit}, {"value", m.value}});
      if (m.bounds)
        put(entry, "range", fmt::format("{:.6g} to {:.6g}", m.bounds->first, m.bounds->second));
      std::string extra =
          fmt::format("samples: {}\nverified: {}", run.time.n, to_string(run.verify.status));
      if (!report.started.empty()) extra += "\nstarted: " + report.started;
      for (const std::string& note : fault_notes(run)) extra += '\n' + note;
      put(entry, "extra", extra);
      append(out, std::move(entry));
    }
  });
  return json_text(out);
}

}  // namespace mgpu
