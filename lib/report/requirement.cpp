#include "lib/report/requirement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "lib/base/error.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/quote.hpp"
#include "lib/plan/choose.hpp"
#include "lib/plan/strategy.hpp"
#include "lib/report/case_name.hpp"
#include "lib/report/metric_interval.hpp"
#include "lib/report/run_groups.hpp"
#include "lib/report/table_writer.hpp"

namespace mgpu {

namespace {

std::string known_metrics() {
  std::string names = "time, rate, faults, disturbed";
  for (const MetricInfo& metric : all_metrics()) names += std::string(", ") + metric.name;
  return names;
}

[[noreturn]] void refuse(std::string_view from, std::string_view text,
                         const std::string& accepted) {
  throw Error(ErrorKind::usage, fmt::format("{}: {} is not understood; expected: {}", from,
                                            in_quotes(text), accepted));
}

bool known_scope(const std::string& scope) {
  const auto all = all_strategies();
  return scope == "best" || scope == auto_strategy().name ||
         std::any_of(all.begin(), all.end(),
                     [&](const StrategyInfo& s) { return s.name == scope; });
}

// Returns the metric of this name, or of the column of a table: "comm" is comm_share, "gain"
// speedup.
const MetricInfo* metric_named(const std::string& name) {
  for (const auto& [metric, column] : kColumnsOfMetrics)
    if (name == column) return find_metric(metric);
  for (const char* ending : {"", "_share", "_percent"})
    if (const MetricInfo* metric = find_metric(name + ending)) return metric;
  return nullptr;
}

// Parses a bound. A % is possible for shares, and necessary for a percentage by its column's name,
// whose number would else be taken for a share.
double parse_bound(std::string_view from, std::string_view whole, const std::string& given,
                   std::string_view text) {
  if (given == "time") return static_cast<double>(parse_duration(from, text).count());
  const MetricInfo* metric = metric_named(given);
  const std::string_view unit = metric != nullptr ? metric->unit : "";
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  double bound = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bound);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() ||
      !std::isfinite(bound) || (percent && unit != "%" && unit != "1"))
    refuse(from, whole, "METRIC>=NUMBER, as in efficiency>=90%, speedup>=1.5 or time<=2ms");
  if (unit == "%" && !percent && given != metric->name)
    refuse(from, whole, fmt::format("a percentage, as in {}<=10%", given));
  constexpr double kMostEfficient = 2;
  if (metric != nullptr && metric->name == std::string_view("efficiency") && !percent &&
      bound > kMostEfficient)
    refuse(from, whole,
           fmt::format("a fraction or a percentage, as in {0}>=0.9 or {0}>=90%", given));
  return percent && unit == "1" ? bound / 100 : bound;
}

Requirement parse_one(std::string_view from, std::string_view text) {
  using Relation = Requirement::Relation;
  Requirement r;
  r.text = text;
  const std::size_t at = text.find_first_of("<>");
  if (at == std::string_view::npos)
    refuse(from, text, "METRIC>=NUMBER, with >=, <=, > or <, as in efficiency>=0.9");
  const bool equal = at + 1 < text.size() && text[at + 1] == '=';
  r.relation = text[at] == '>' ? (equal ? Relation::at_least : Relation::above)
                               : (equal ? Relation::at_most : Relation::below);
  r.metric = text.substr(0, at);
  if (const std::size_t colon = r.metric.find(':'); colon != std::string::npos) {
    r.scope = r.metric.substr(0, colon);
    r.metric = r.metric.substr(colon + 1);
    if (!known_scope(r.scope))
      refuse(from, text, "before the colon best, or a strategy of mgpu-bench list strategies");
  }
  const MetricInfo* metric = metric_named(r.metric);
  const bool known = r.metric == "time" || r.metric == "rate" || r.metric == "faults" ||
                     r.metric == "disturbed" || metric != nullptr;
  if (!known) refuse(from, text, "the metrics " + known_metrics());
  r.bound = parse_bound(from, text, r.metric, text.substr(at + (equal ? 2 : 1)));
  if (metric != nullptr) r.metric = metric->name;
  return r;
}

std::optional<double> figure(const RunRecord& run, const std::string& metric) {
  if (metric == "time") return static_cast<double>(run.time.median.count());
  if (metric == "faults") return static_cast<double>(run.faults.size());
  if (metric == "disturbed") return static_cast<double>(run.invalidated.size());
  if (metric == "rate") return run.rate > 0 ? std::optional(run.rate) : std::nullopt;
  const MetricInfo* info = find_metric(metric);
  return info != nullptr ? run.metrics.*info->value : std::nullopt;
}

bool holds(double value, const Requirement& r) {
  switch (r.relation) {
    case Requirement::Relation::at_least:
      return value >= r.bound;
    case Requirement::Relation::at_most:
      return value <= r.bound;
    case Requirement::Relation::above:
      return value > r.bound;
    case Requirement::Relation::below:
      return value < r.bound;
  }
  return false;
}

std::vector<const RunRecord*> in_scope(const Report& report, const std::string& scope) {
  std::vector<const RunRecord*> runs;
  if (scope == "best") {
    for (const RunGroup& group : group_runs(report))
      if (group.best) runs.push_back(group.best);
    return runs;
  }
  for (const RunRecord& run : report.runs)
    if (run.status == Status::ok && (scope.empty() || run.strategy == scope)) runs.push_back(&run);
  return runs;
}

// Returns why a value that reaches the bound is too uncertain; empty: it is certain.
std::string undecided(const RunRecord& run, const Requirement& r) {
  const MetricInfo* metric = find_metric(r.metric);
  const auto interval = metric != nullptr ? interval_of(run, *metric) : std::nullopt;
  if (!interval || (holds(interval->low, r) && holds(interval->high, r))) return "";
  if (run.samples.size() < kFewestRanked)
    return fmt::format("fewer than {} samples do not tell its noise", kFewestRanked);
  return fmt::format("its 95 % interval is {:.4g} to {:.4g}", interval->low, interval->high);
}

// Returns why the metric is impossible; empty: it is possible.
std::string impossible(const RunRecord& run, const std::string& metric) {
  for (const DoubtfulMetric& doubt : doubtful_metrics(run))
    if (doubt.beyond_noise && metric == doubt.metric->name) return "it is " + doubt.reason;
  return "";
}

std::string in_words(const std::string& metric, const std::optional<double>& value) {
  if (!value || !std::isfinite(*value)) return "undefined";
  return metric == "time" ? format_duration(Nanos{std::llround(*value)})
                          : fmt::format("{:.4g}", *value);
}

}  // namespace

std::vector<Requirement> parse_requirements(std::string_view from, std::string_view text) {
  std::vector<Requirement> all;
  for (std::size_t begin = 0;;) {
    const std::size_t comma = text.find(',', begin);
    all.push_back(parse_one(from, text.substr(begin, comma - begin)));
    if (comma == std::string_view::npos) return all;
    begin = comma + 1;
  }
}

std::vector<Miss> misses(const Report& report, const std::vector<Requirement>& requirements) {
  std::vector<Miss> all;
  const bool exact = report.environment.contains("simulated");
  const Titles titles(report);
  for (const Requirement& r : requirements) {
    const std::vector<const RunRecord*> runs = in_scope(report, r.scope);
    const auto lost = static_cast<double>(report.faults.size());
    if (r.metric == "faults" && r.scope.empty() && lost > 0 && !holds(lost, r))
      all.push_back(
          {std::nullopt, fmt::format("faults of no case are {}, required is {}", lost, r.text)});
    if (runs.empty())
      all.push_back({std::nullopt, fmt::format("no case was measured that {} is about", r.text)});
    for (const RunRecord* run : runs) {
      const std::optional<double> value = figure(*run, r.metric);
      const bool reached = value && std::isfinite(*value) && holds(*value, r);
      std::string why = exact ? "" : impossible(*run, r.metric);
      if (why.empty() && reached && !exact) why = undecided(*run, r);
      if (why.empty() && reached) continue;
      all.push_back(
          {static_cast<std::size_t>(run - report.runs.data()),
           fmt::format("{}, {} on {} device{}: {} is {}{}, required is {}", titles.of(*run),
                       strategy_label(*run), asked_for(*run), asked_for(*run) == 1 ? "" : "s",
                       r.metric, in_words(r.metric, value),
                       why.empty() ? "" : " (inconclusive: " + why + ")", r.text),
           !why.empty()});
    }
  }
  return all;
}

}  // namespace mgpu
