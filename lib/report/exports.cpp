// The table of kinds, and those that are text: csv, markdown, junit. Those that are JSON are in
// export_json.cpp.
#include "lib/report/exports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "lib/base/error.hpp"
#include "lib/base/quantity.hpp"
#include "lib/report/case_name.hpp"
#include "lib/report/export_json.hpp"
#include "lib/report/fault_words.hpp"
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

// The names that any of the runs has, in order: a column each.
std::vector<std::string> names_in(const Report& report, ParamMap RunRecord::*params) {
  std::set<std::string> names;
  for (const RunRecord& run : report.runs)
    for (const auto& [name, value] : run.*params) names.insert(name);
  return {names.begin(), names.end()};
}

std::string param_cells(const std::vector<std::string>& names, const ParamMap& params) {
  std::string cells;
  for (const std::string& name : names) {
    const auto found = params.find(name);
    cells += ',' + (found == params.end() ? "" : quoted(param_text(found->second)));
  }
  return cells;
}

// Returns "speedup: REASON; efficiency: REASON"; empty where no metric is beyond what it can be.
std::string doubts_of(const RunRecord& run) {
  std::string text;
  for (const DoubtfulMetric& doubt : doubtful_metrics(run))
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", doubt.metric->name, doubt.reason);
  return text;
}

std::string export_csv(const Report& report) {
  const std::vector<std::string> params = names_in(report, &RunRecord::params),
                                 own = names_in(report, &RunRecord::strategy_params);
  std::string out = "started,suite,mode";
  for (const std::string& name : params) out += ",param_" + quoted(name);
  out += ",strategy";
  for (const std::string& name : own) out += ",strategy_" + quoted(name);
  out +=
      ",chosen,devices,samples,time_min_ns,time_median_ns,time_mean_ns,time_stdev_ns,time_ci95_low_"
      "ns,time_ci95_high_ns,rate,"
      "rate_unit";
  for (const MetricInfo& metric : all_metrics()) out += std::string(",") + metric.name;
  out += ",bottleneck,verified,devices_asked,faults,disturbed,doubtful\r\n";
  for (const RunRecord& run : report.runs) {
    if (run.status != Status::ok) continue;
    const Summary& t = run.time;
    out += fmt::format("{},{},{}{},{}{},{},", quoted(report.started), quoted(run.suite),
                       to_string(run.mode), param_cells(params, run.params), quoted(run.strategy),
                       param_cells(own, run.strategy_params),
                       run.plan.chosen ? quoted(run.plan.chosen->strategy) : "");
    out += fmt::format("{},{},{},{},{},{},{},{},{},{}", run.devices.size(), t.n, t.min.count(),
                       t.median.count(), t.mean.count(), t.stdev.count(), t.ci95_low.count(),
                       t.ci95_high.count(), run.rate, quoted(run.rate_unit));
    for (const MetricInfo& metric : all_metrics()) {
      const std::optional<double> value = run.metrics.*metric.value;
      out += value && std::isfinite(*value) ? fmt::format(",{}", *value) : ",";
    }
    out += fmt::format(",{},{},{},{},{},{}\r\n", quoted(run.bottleneck.name),
                       to_string(run.verify.status), asked_for(run), run.faults.size(),
                       run.disturbed.size(), quoted(doubts_of(run)));
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
      const char* mark = simulated || impossible_speedup(run, false).empty() ? "" : " (!)";
      out += fmt::format(
          "| {} | {} | {} | {} | {}{} | {}{} | {}{} | {} | {} | {} | {} | {} |\n",
          group.ranks[k] == Rank::alone || group.ranks[k] == Rank::shared ? "**" + label + "**"
                                                                          : label,
          run.devices.size(), asked_for(run), format_duration(run.time.median),
          run.rate > 0 ? format_si(run.rate) : "-", run.rate > 0 ? cell(run.rate_unit) : "",
          number_cell(run.metrics.speedup, 2), mark, number_cell(run.metrics.efficiency, 1, 100),
          mark, number_cell(run.metrics.balance, 1, 100), cell(what_if_word(run.bottleneck.name)),
          simulated ? "-" : to_string(run.verify.status), run.faults.size(), run.disturbed.size());
    }
  }
  return report.started.empty() ? out : fmt::format("{}\n{}\n", out, cell(measured_words(report)));
}

// XML 1.0 has no control characters but tab and line breaks, not even escaped.
std::string xml(const std::string& text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

std::string export_junit(const Report& report, const std::vector<Miss>& missed) {
  std::string cases;
  std::size_t failures = 0, skipped = 0, tests = report.runs.size();
  const auto failed = [&](const std::string& what) {
    ++failures;
    return fmt::format("<failure message=\"{}\"/>", xml(what));
  };
  // A fault that the run survived is not a failure: readers show it with the test that passed.
  const auto system_out = [](const std::string& lines) {
    return lines.empty() ? "" : fmt::format("<system-out>{}</system-out>", lines);
  };
  for (std::size_t k = 0; k < report.runs.size(); ++k) {
    const RunRecord& run = report.runs[k];
    cases += fmt::format("    <testcase classname=\"mgpu-bench.{}\" name=\"{}\"", xml(run.suite),
                         xml(case_name(run)));
    if (run.status == Status::ok)
      cases += fmt::format(" time=\"{:.9f}\"", seconds(run.time.median));
    std::string why, what, lines;
    for (const Miss& miss : missed)
      if (miss.run == k) why += (why.empty() ? "" : "; ") + miss.what;
    for (const Fault& fault : run.faults) lines += xml(fault_sentence(fault, &run)) + '\n';
    if (run.status == Status::failed) {
      what = failed(run.reason.value_or("failed"));
    } else if (!why.empty()) {
      what = failed(why);
    } else if (run.status != Status::ok) {
      ++skipped;
      what = fmt::format("<skipped message=\"{}: {}\"/>", to_string(run.status),
                         xml(run.reason.value_or("")));
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
  for (const Fault& fault : report.faults) lost += xml(fault_sentence(fault, nullptr)) + '\n';
  if (!lost.empty()) cases += "    " + system_out(lost) + '\n';
  const std::string counts = fmt::format("tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\"",
                                         tests, failures, skipped);
  const std::string when =
      report.started.empty() ? "" : fmt::format(" timestamp=\"{}\"", xml(report.started));
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {0}>\n  <testsuite "
      "name=\"mgpu-bench\"{2} {0}>\n{1}"
      "  </testsuite>\n</testsuites>\n",
      counts, cases, when);
}

}  // namespace

std::span<const std::string_view> export_kinds() {
  static constexpr std::array<std::string_view, 5> kinds = {"googlecpp", "bmf", "csv", "markdown",
                                                            "junit"};
  return kinds;
}

std::string exported(std::string_view kind, const Report& report, const std::vector<Miss>& missed) {
  if (kind == "googlecpp") return export_googlecpp(report);
  if (kind == "bmf") return export_bmf(report);
  if (kind == "csv") return export_csv(report);
  if (kind == "markdown") return export_markdown(report);
  if (kind == "junit") return export_junit(report, missed);
  throw Error(ErrorKind::internal, "no export " + std::string(kind));
}

}  // namespace mgpu
