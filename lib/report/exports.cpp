// The table of export kinds, and their writers.
#include "lib/report/exports.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/printable.hpp"
#include "lib/base/quantity.hpp"
#include "lib/report/case_name.hpp"
#include "lib/report/fault_words.hpp"
#include "lib/report/json_build.hpp"
#include "lib/report/metric_interval.hpp"
#include "lib/report/run_groups.hpp"
#include "lib/report/scale.hpp"
#include "lib/report/table_writer.hpp"
#include "lib/report/text_table.hpp"

namespace mgpu {

namespace {

std::string quoted(const std::string& text) {
  if (text.find_first_of("\",\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

// Returns "speedup: REASON; efficiency: REASON"; empty if no metric exceeds its limit.
std::string doubts_of(const RunRecord& run) {
  std::string text;
  for (const DoubtfulMetric& doubt : doubtful_metrics(run))
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", doubt.metric->name, doubt.reason);
  return text;
}

// Returns the verification of a case; empty if it ended before one.
std::string verified_word(const RunRecord& run) {
  const bool ended_before = run.status != Status::ok && run.verify.status == VerifyStatus::off;
  return ended_before ? "" : to_string(run.verify.status);
}

struct CsvColumn {
  std::string name;
  std::function<std::string(const RunRecord&)> cell;
  bool is_figure = false;  // empty for cases that are not ok
};

// Adds a column for each name that any of the runs has, in order.
void add_params(const Report& report, const std::string& prefix, ParamMap RunRecord::*params,
                std::vector<CsvColumn>& columns) {
  std::set<std::string> names;
  for (const RunRecord& run : report.runs)
    for (const auto& [name, value] : run.*params) names.insert(name);
  for (const std::string& name : names) {
    columns.push_back({prefix + name, [=](const RunRecord& run) {
                         const auto found = (run.*params).find(name);
                         return found == (run.*params).end() ? "" : param_text(found->second);
                       }});
  }
}

template <auto Get>
CsvColumn column(const char* name, bool is_figure = false) {
  return {name, [](const RunRecord& run) { return fmt::format("{}", std::invoke(Get, run)); },
          is_figure};
}

template <Nanos Summary::*Time>
CsvColumn time_column(const char* name) {
  return column<[](const RunRecord& run) { return (run.time.*Time).count(); }>(name, true);
}

std::vector<CsvColumn> csv_columns(const Report& report) {
  using R = RunRecord;
  std::vector<CsvColumn> all{{"started", [&](const R&) { return report.started; }},
                             column<case_name>("case"),
                             column<&R::suite>("suite"),
                             column<[](const R& run) { return to_string(run.mode); }>("mode")};
  add_params(report, "param_", &R::params, all);
  all.push_back(column<&R::strategy>("strategy"));
  add_params(report, "strategy_", &R::strategy_params, all);
  for (CsvColumn& each : std::vector<CsvColumn>{
           column<[](const R& run) {
             return run.plan.chosen ? run.plan.chosen->strategy : std::string();
           }>("chosen"),
           column<[](const R& run) { return run.devices.size(); }>("devices"),
           column<[](const R& run) { return to_string(run.status); }>("status"),
           column<[](const R& run) { return printable(run.reason.value_or("")); }>("reason"),
           column<[](const R& run) { return run.time.n; }>("samples", true),
           time_column<&Summary::min>("time_min_ns"),
           time_column<&Summary::median>("time_median_ns"),
           time_column<&Summary::mean>("time_mean_ns"),
           time_column<&Summary::stdev>("time_stdev_ns"),
           time_column<&Summary::ci95_low>("time_ci95_low_ns"),
           time_column<&Summary::ci95_high>("time_ci95_high_ns"), column<&R::rate>("rate", true),
           column<&R::rate_unit>("rate_unit")})
    all.push_back(std::move(each));
  for (const MetricInfo& metric : all_metrics())
    all.push_back({metric.name,
                   [value = metric.value](const R& run) {
                     const std::optional<double> found = run.metrics.*value;
                     return found && std::isfinite(*found) ? fmt::format("{}", *found) : "";
                   },
                   true});
  for (CsvColumn& each : std::vector<CsvColumn>{
           column<[](const R& run) { return what_if_word(run.bottleneck.name); }>("bottleneck",
                                                                                  true),
           column<verified_word>("verified"), column<asked_for>("devices_asked"),
           column<[](const R& run) { return run.faults.size(); }>("faults"),
           column<[](const R& run) { return run.invalidated.size(); }>("disturbed"),
           column<doubts_of>("doubtful", true)})
    all.push_back(std::move(each));
  return all;
}

std::string csv_line(std::span<const std::string> cells) {
  std::string line;
  for (const std::string& cell : cells) line += (&cell == &cells.front() ? "" : ",") + quoted(cell);
  return line + "\r\n";
}

std::string export_csv(const Report& report) {
  const std::vector<CsvColumn> columns = csv_columns(report);
  std::vector<std::string> cells;
  for (const CsvColumn& column : columns) cells.push_back(column.name);
  std::string out = csv_line(cells);
  for (const RunRecord& run : report.runs) {
    cells.clear();
    for (const CsvColumn& column : columns) {
      const bool known = run.status == Status::ok || !column.is_figure;
      cells.push_back(known ? column.cell(run) : "");
    }
    out += csv_line(cells);
  }
  return out;
}

std::string fact(const Report& report, const std::string& name) {
  const auto found = report.environment.find(name);
  return found == report.environment.end() ? "" : found->second;
}

std::string device_name(const Report& report, const std::string& id) {
  for (const DeviceRecord& record : report.devices)
    if (record.device.id == id) return record.device.name;
  return "";
}

std::string params_json(const ParamMap& params) {
  JsonValue json = json_object();
  for (const auto& [name, value] : params)
    std::visit([&, &key = name](const auto& v) { put(json, key, v); }, value);
  return flat_json(json);
}

std::string export_samples(const Report& report) {
  std::string out =
      "run_id,started,version,git,host,case,suite,params,strategy,devices,device_names,mode,status,"
      "reason,verified,sample,time_ns,discarded\r\n";
  for (const RunRecord& run : report.runs) {
    std::vector<std::string> names;
    for (const std::string& id : run.devices) names.push_back(device_name(report, id));
    const std::string of_case[] = {report.id,
                                   report.started,
                                   report.tool.version,
                                   report.tool.git,
                                   fact(report, "host"),
                                   case_name(run),
                                   run.suite,
                                   params_json(run.params),
                                   strategy_label(run),
                                   fmt::format("{}", fmt::join(run.devices, ";")),
                                   fmt::format("{}", fmt::join(names, ";")),
                                   to_string(run.mode),
                                   to_string(run.status)};
    const auto add = [&](const std::string& reason, const std::string& sample,
                         std::optional<Nanos> time, bool discarded) {
      std::vector<std::string> cells(std::begin(of_case), std::end(of_case));
      cells.insert(cells.end(),
                   {printable(reason), verified_word(run), sample,
                    time ? std::to_string(time->count()) : "", discarded ? "true" : "false"});
      out += csv_line(cells);
    };
    if (run.status != Status::ok) add(run.reason.value_or(""), "", std::nullopt, false);
    for (std::size_t k = 0; run.status == Status::ok && k < run.samples.size(); ++k)
      add("", std::to_string(k), run.samples[k], false);
    for (std::size_t k = 0; k < run.invalidated.size(); ++k) {
      const InvalidatedSample& sample = run.invalidated[k];
      add(sample.reason, std::to_string(k),
          sample.reason.empty() ? std::optional(sample.time) : std::nullopt, true);
    }
  }
  return out;
}

std::string cell(const std::string& text) {
  std::string out;
  for (const char c : printable(text)) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string export_markdown(const Report& report) {
  const bool simulated = report.environment.contains("simulated");
  std::string out;
  for (const RunGroup& group : group_runs(report)) {
    out += fmt::format("{}**{}**\n\n", out.empty() ? "" : "\n", cell(group.title));
    out +=
        "| strategy | devices | asked | time | rate | speed-up | efficiency (%) | balance (%) | "
        "bottleneck | verified | faults | "
        "disturbed "
        "|\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- | ---: | ---: |\n";
    for (std::size_t k = 0; k < group.runs.size(); ++k) {
      const RunRecord& run = *group.runs[k];
      if (run.status != Status::ok) continue;
      const std::string label = cell(group.labels[k]);
      const char* mark = simulated || why_above_ideal(run).empty() ? "" : " (!)";
      out += fmt::format(
          "| {} | {} | {} | {} | {}{} | {}{} | {}{} | {} | {} | {} | {} | {} |\n",
          group.ranks[k] == Rank::alone || group.ranks[k] == Rank::shared ? "**" + label + "**"
                                                                          : label,
          run.devices.size(), asked_for(run), format_duration(run.time.median),
          run.rate > 0 ? format_si(run.rate) : "-", run.rate > 0 ? cell(run.rate_unit) : "",
          number_cell(run.metrics.speedup, 2), mark, number_cell(run.metrics.efficiency, 1, 100),
          mark, number_cell(run.metrics.balance, 1, 100), cell(what_if_word(run.bottleneck.name)),
          simulated ? "-" : to_string(run.verify.status), run.faults.size(),
          run.invalidated.size());
    }
  }
  return report.started.empty() ? out : fmt::format("{}\n{}\n", out, cell(measured_words(report)));
}

std::string export_junit(const Report& report, const std::vector<Miss>& missed) {
  std::string cases;
  std::size_t failures = 0, skipped = 0, tests = report.runs.size();
  const auto failed = [&](const std::string& what) {
    ++failures;
    return fmt::format("<failure message=\"{}\"/>", xml_text(what));
  };
  // A fault that the run survived is not a failure: readers show it with the passed test.
  const auto system_out = [](const std::string& lines) {
    return lines.empty() ? "" : fmt::format("<system-out>{}</system-out>", lines);
  };
  for (std::size_t k = 0; k < report.runs.size(); ++k) {
    const RunRecord& run = report.runs[k];
    cases += fmt::format("    <testcase classname=\"mgpu-bench.{}\" name=\"{}\"",
                         xml_text(run.suite), xml_text(case_name(run)));
    if (run.status == Status::ok)
      cases += fmt::format(" time=\"{:.9f}\"", seconds(run.time.median));
    std::string why, what, lines;
    for (const Miss& miss : missed)
      if (miss.run == k) why += (why.empty() ? "" : "; ") + miss.what;
    for (const Fault& fault : run.faults) lines += xml_text(fault_sentence(fault, &run)) + '\n';
    if (run.status == Status::failed) {
      what = failed(run.reason.value_or("failed"));
    } else if (!why.empty()) {
      what = failed(why);
    } else if (run.status != Status::ok) {
      ++skipped;
      what = fmt::format("<skipped message=\"{}: {}\"/>", to_string(run.status),
                         xml_text(run.reason.value_or("")));
    }
    what += system_out(lines);
    cases += what.empty() ? "/>\n" : '>' + what + "</testcase>\n";
  }
  for (const Miss& miss : missed) {
    if (miss.run) continue;
    ++tests;
    cases += "    <testcase classname=\"mgpu-bench\" name=\"required\" time=\"0\">" +
             failed(miss.what) + "</testcase>\n";
  }
  std::string lost;
  for (const Fault& fault : report.faults) lost += xml_text(fault_sentence(fault, nullptr)) + '\n';
  if (!lost.empty()) cases += "    " + system_out(lost) + '\n';
  const std::string counts = fmt::format("tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\"",
                                         tests, failures, skipped);
  const std::string when =
      report.started.empty() ? "" : fmt::format(" timestamp=\"{}\"", xml_text(report.started));
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {0}>\n  <testsuite "
      "name=\"mgpu-bench\"{2} {0}>\n{1}"
      "  </testsuite>\n</testsuites>\n",
      counts, cases, when);
}

// JSON for other tools. Comments say what each of them reads and which inputs it rejects.

// Bencher refuses a file without "caches", compare.py one whose json_schema_version is not 1.
// Additional members must be strings.
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

// Returns a figure that other tools may store: finite, because NaN and Infinity are no JSON and
// node rejects the whole file, and not above its limit by more than noise.
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

struct ExportKind {
  std::string_view name;
  std::string (*write)(const Report& report, const std::vector<Miss>& missed);
};
constexpr ExportKind kKinds[] = {
    {"googlecpp", [](const Report& report, auto&) { return export_googlecpp(report); }},
    {"bmf", [](const Report& report, auto&) { return export_bmf(report); }},
    {"csv", [](const Report& report, auto&) { return export_csv(report); }},
    {"samples", [](const Report& report, auto&) { return export_samples(report); }},
    {"markdown", [](const Report& report, auto&) { return export_markdown(report); }},
    {"junit", export_junit}};

}  // namespace

std::vector<std::string_view> export_kinds() {
  std::vector<std::string_view> names;
  for (const ExportKind& kind : kKinds) names.push_back(kind.name);
  return names;
}

std::string exported(std::string_view kind, const Report& report, const std::vector<Miss>& missed) {
  for (const ExportKind& one : kKinds)
    if (one.name == kind) return one.write(report, missed);
  throw Error(ErrorKind::internal, "no export " + std::string(kind));
}

}  // namespace mgpu
