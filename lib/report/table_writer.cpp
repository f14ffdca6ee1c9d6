// Tables of runs. device_table.cpp has those of devices, text_table.cpp the layout of text,
// summary_sentences.cpp the summary.
#include "lib/report/table_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "lib/report/case_values.hpp"
#include "lib/report/fault_words.hpp"
#include "lib/report/metric_interval.hpp"
#include "lib/report/run_groups.hpp"
#include "lib/report/scale.hpp"
#include "lib/report/text_table.hpp"

namespace mgpu {

namespace {

constexpr const char* kBest = "\x1b[1;32m";
constexpr const char* kNotOk = "\x1b[31m";

struct GroupScales {
  Scale time, rate;
  std::string rate_unit;
  std::size_t half_width = 0;    // width of the longest half interval of a time
  std::size_t spread_width = 0;  // width of the longest spread of a time
};

// Tells whether half of the 95 % interval describes both sides of the time: both are tiny, or about
// equal and less than the time itself.
bool has_half(const Summary& time) {
  constexpr double kHardlyAnything = 0.01, kOneSided = 2;
  const auto median = static_cast<double>(time.median.count()),
             below = static_cast<double>((time.median - time.ci95_low).count()),
             above = static_cast<double>((time.ci95_high - time.median).count());
  const double half = (below + above) / 2;
  if (below < 0 || above < 0 || half > median) return false;
  return half <= kHardlyAnything * median ||
         std::max(below, above) <= kOneSided * std::min(below, above);
}

std::string half_of(const RunRecord& run, const Scale& scale) {
  return scale.format(static_cast<double>((run.time.ci95_high - run.time.ci95_low).count()) / 2);
}

// Returns the spread after a time: "± 0.3", half of its 95 % interval, or the interval "[0.8,
// 2.9]"; empty for a single sample.
std::string spread_of(const RunRecord& run, const GroupScales& scales) {
  const Summary& time = run.time;
  if (time.n < 2) return "";
  if (has_half(time))
    return fmt::format("\u00b1 {:>{}}", half_of(run, scales.time), scales.half_width);
  return fmt::format("[{}, {}]", scales.time.format(static_cast<double>(time.ci95_low.count())),
                     scales.time.format(static_cast<double>(time.ci95_high.count())));
}

GroupScales scales_of(const RunGroup& group) {
  double fastest = 0, slowest_rate = 0, best_rate = 0;
  GroupScales scales;
  for (const RunRecord* run : group.runs) {
    if (run->status != Status::ok) continue;
    const auto ns = static_cast<double>(run->time.median.count());
    fastest = fastest > 0 ? std::min(fastest, ns) : ns;
    if (run->rate > 0)
      slowest_rate = slowest_rate > 0 ? std::min(slowest_rate, run->rate) : run->rate;
    best_rate = std::max(best_rate, run->rate);
    if (scales.rate_unit.empty()) scales.rate_unit = run->rate_unit;
  }
  scales.time = time_scale(fastest);
  scales.rate = rate_scale(slowest_rate, best_rate);
  for (const RunRecord* run : group.runs)
    if (run->status == Status::ok && run->time.n >= 2 && has_half(run->time))
      scales.half_width = std::max(scales.half_width, half_of(*run, scales.time).size());
  for (const RunRecord* run : group.runs)
    if (run->status == Status::ok)
      scales.spread_width = std::max(scales.spread_width, display_width(spread_of(*run, scales)));
  return scales;
}

std::string largest_residue(const RunRecord& run) {
  const auto makespan = static_cast<double>(run.timeline.makespan.count());
  if (run.per_device.empty() || makespan <= 0) return "-";
  double worst = 0;
  for (const PerDevice& p : run.per_device)
    if (!p.parts.unknown.empty()) return "?";
  for (const PerDevice& p : run.per_device)
    worst = std::max(worst, std::abs(static_cast<double>(p.parts.residue.count())));
  return fmt::format("{:.1f}", worst / makespan * 100);
}

// Returns the warnings of a row: those of the record, faults, unknown times, and too few samples
// for compare to test, except on a virtual clock, where all samples are equal.
std::vector<std::string> warnings_of(const RunRecord& run, bool simulated) {
  constexpr std::size_t kFewSamples = 5;
  std::vector<std::string> warnings = run.warnings;
  for (std::string& note : fault_notes(run)) warnings.push_back(std::move(note));
  if (simulated) return warnings;
  if (std::string why = impossible_speedup(run, false); !why.empty())
    warnings.push_back(std::move(why));
  if (run.status == Status::ok && run.samples.size() < kFewSamples)
    warnings.push_back(
        fmt::format("{} sample{} only", run.samples.size(), run.samples.size() == 1 ? "" : "s"));
  return warnings;
}

const char* mark_of(Rank rank) {
  switch (rank) {
    case Rank::none:
      return " ";
    case Rank::alone:
      return "*";
    case Rank::shared:
      return "=";
    case Rank::unknown:
      return "?";
  }
  return "";
}

// Returns the median over the samples, as compare does: the record's own figure is of one sample.
std::optional<double> imbalance_percent(const RunRecord& run) {
  const auto ratio = case_figure(run, Compared::imbalance);
  return ratio ? std::optional((*ratio - 1) * 100) : std::nullopt;
}

// Returns "passed", or "2 of 20" if not all samples were checked.
std::string verified_cell(const RunRecord& run) {
  const std::size_t checked = run.verify.checked;  // 0: an older version wrote it
  if (run.verify.status != VerifyStatus::passed || checked == 0 || checked >= run.samples.size())
    return to_string(run.verify.status);
  return fmt::format("{} of {}", checked, run.samples.size());
}

std::string time_cell(const RunRecord& run, const GroupScales& scales) {
  const std::string spread = spread_of(run, scales);
  return scales.time.format(static_cast<double>(run.time.median.count())) +
         (scales.spread_width > 0 ? " " + spread : "") +
         std::string(scales.spread_width - display_width(spread), ' ');
}

// A column of a measured case, in addition to strategy and devices.
struct RunColumn {
  TextColumn heading;
  std::function<std::string(const RunRecord&, const GroupScales&)> cell;
};

std::vector<RunColumn> run_columns(const GroupScales& in) {
  using Run = const RunRecord&;
  using Scales = const GroupScales&;
  const auto metric = [](std::optional<double> Metrics::*value, int decimals, double factor) {
    return [=](Run run, Scales) { return number_cell(run.metrics.*value, decimals, factor); };
  };
  return {
      {{"time", in.time.prefix, true, 0, false}, time_cell},
      {{"rate", in.rate.prefix + in.rate_unit, true, 80, false},
       [](Run run, Scales scales) { return run.rate > 0 ? scales.rate.format(run.rate) : "-"; }},
      {{"speedup", "x", true, 100, false}, metric(&Metrics::speedup, 2, 1)},
      {{"efficiency", "%", true, 90, false}, metric(&Metrics::efficiency, 1, 100)},
      {{"balance", "%", true, 60, false}, metric(&Metrics::balance, 1, 100)},
      {{"imbalance", "%", true, 40, false},
       [](Run run, Scales) { return number_cell(imbalance_percent(run), 1); }},
      {{"overlap", "%", true, 30, false}, metric(&Metrics::overlap, 1, 100)},
      {{"comm", "%", true, 35, false}, metric(&Metrics::comm_share, 1, 100)},
      {{"exchange", "%", true, 36, false}, metric(&Metrics::exchange_share, 1, 100)},
      {{"filling", "%", true, 37, false}, metric(&Metrics::filling_share, 1, 100)},
      {{"predicted", in.time.prefix, true, 65, false},
       [](Run run, Scales scales) {
         return run.plan.predicted
                    ? scales.time.format(static_cast<double>(run.plan.predicted->count()))
                    : "-";
       }},
      {{"residue", "%", true, 10, false}, [](Run run, Scales) { return largest_residue(run); }},
      {{"bottleneck", "", false, 70, false},
       [](Run run, Scales) { return what_if_word(run.bottleneck.name); }},
      {{"verified", "", false, 75, false}, [](Run run, Scales) { return verified_cell(run); }},
  };
}

// Returns the columns that the style chooses, however wide, or all. Omits verification if nothing
// was computed, and columns of exchanges or chains of stages if there was none.
std::vector<RunColumn> run_columns(const GroupScales& scales, const TableStyle& style,
                                   bool simulated, bool exchanges, bool chains) {
  std::vector<RunColumn> columns = run_columns(scales);
  std::erase_if(columns, [&](RunColumn& column) {
    const bool chosen = std::find(style.columns.begin(), style.columns.end(),
                                  column.heading.name) != style.columns.end();
    if (chosen) column.heading.importance = 0;
    return (!chosen && !style.columns.empty()) ||
           (simulated && column.heading.name == "verified") ||
           (!chosen && !exchanges && column.heading.name == "exchange") ||
           (!chosen && !chains && column.heading.name == "filling");
  });
  return columns;
}

// `mark`: of the rank, or "!" for a row with warnings.
TextRow run_row(const RunRecord& run, const std::string& label, const std::string& mark,
                const std::vector<RunColumn>& columns, const GroupScales& scales) {
  TextRow row{{mark, label, devices_text(run)}};
  if (run.status != Status::ok) {
    const std::string why = run.reason.value_or("");
    if (!columns.empty())
      row.cells.push_back(std::string(to_string(run.status)) + (why.empty() ? "" : ": " + why));
    row.color = kNotOk;
    return row;
  }
  for (const RunColumn& column : columns) row.cells.push_back(column.cell(run, scales));
  if (mark.starts_with('*') || mark.starts_with('=')) row.color = kBest;
  return row;
}

constexpr const char* kTooFew = "too few samples to be ranked";
constexpr const char* kImpossible = "not ranked, as its speed-up cannot be";
constexpr const char* kTooVaried =
    "times vary too much to be ranked (half the 95 % interval is over 25 % of the median)";

const char* why_unranked(const RunRecord& run) {
  if (run.time.n < kFewestRanked) return kTooFew;
  return impossible_speedup(run, true).empty() ? kTooVaried : kImpossible;
}

bool is_unranked(const std::string& warning) {
  return warning == kTooFew || warning == kTooVaried || warning == kImpossible;
}

// Returns lines such as "! equal, dynamic: 3 samples only": the warnings of rows, each once.
std::string warning_lines(const RunGroup& group, bool simulated, std::size_t width) {
  const auto counts = [&](const RunRecord* run) {
    return run->devices.size() != group.runs.front()->devices.size();
  };
  const bool several_counts = std::any_of(group.runs.begin(), group.runs.end(), counts);
  RowNotes notes;
  for (std::size_t k = 0; k < group.runs.size(); ++k) {
    const RunRecord& run = *group.runs[k];
    std::vector<std::string> warnings;
    if (group.ranks[k] == Rank::unknown) warnings.emplace_back(why_unranked(run));
    for (std::string& warning : warnings_of(run, simulated)) warnings.push_back(std::move(warning));
    for (const std::string& warning : warnings)
      notes.add(warning, group.labels[k] +
                             (several_counts ? fmt::format(" ({} dev)", run.devices.size()) : ""));
  }
  std::string out;
  notes.each(group.runs.size(), [&](const std::string& warning, const std::string& names) {
    out += wrapped_prose(
        printable((is_unranked(warning) ? "? " : "! ") + names + ": " + warning) + '\n',
        {static_cast<unsigned>(width), false, true}, 2);
  });
  return out;
}

// Appends the names of columns without room to `hidden`.
std::string run_table(const RunGroup& group, bool simulated, const TableStyle& style,
                      std::vector<std::string>& hidden) {
  const GroupScales scales = scales_of(group);
  const auto exchanges = [](const RunRecord* run) {
    return run->metrics.exchange_share.has_value();
  };
  const auto chains = [](const RunRecord* run) { return run->metrics.filling_share.has_value(); };
  const auto any = [&](const auto& has) {
    return std::any_of(group.runs.begin(), group.runs.end(), has);
  };
  const std::vector<RunColumn> columns =
      run_columns(scales, style, simulated, any(exchanges), any(chains));
  std::vector<TextColumn> headings = {
      {"", "", false, 0, false}, {"strategy", "", false, 0, true}, {"dev", "", true, 0, false}};
  for (const RunColumn& column : columns) headings.push_back(column.heading);
  const auto is_ok = [](const RunRecord* run) { return run->status == Status::ok; };
  // A single row is faster than nothing.
  const bool lone = std::count_if(group.runs.begin(), group.runs.end(), is_ok) == 1;
  std::vector<TextRow> rows;
  for (std::size_t k = 0; k < group.runs.size(); ++k)
    rows.push_back(run_row(*group.runs[k], group.labels[k],
                           std::string(mark_of(lone ? Rank::none : group.ranks[k])) +
                               (warnings_of(*group.runs[k], simulated).empty() ? "" : "!"),
                           columns, scales));
  return wrapped_prose(printable(group.title) + '\n', {std::max(style.width, 20u), false, true},
                       2) +
         draw_table(std::move(headings), std::move(rows), style.width, style.color, hidden) +
         warning_lines(group, simulated, std::max(style.width, 20u));
}

// Appends the names of columns without room in one of the tables to `hidden`.
std::vector<std::string> tables_of(const Report& report, const TableStyle& style,
                                   std::vector<std::string>& hidden) {
  const bool simulated = report.environment.contains("simulated");
  std::vector<std::string> tables;
  for (const RunGroup& group : group_runs(report))
    tables.push_back(run_table(group, simulated, style, hidden));
  return tables;
}

}  // namespace

std::string what_if_word(const std::string& name) {
  if (name == "perfect_balance") return "balance";
  if (name == "unknown") return "?";
  return name.starts_with("free_") ? name.substr(5) : name;
}

std::string measured_words(const Report& report) {
  if (report.started.empty()) return "";
  const auto host = report.environment.find("host");
  const bool simulated = report.environment.contains("simulated");
  return fmt::format("{} {}{} with mgpu-bench {}", simulated ? "simulated" : "measured",
                     report.started,
                     host == report.environment.end() || simulated ? "" : " on " + host->second,
                     report.tool.version);
}

std::vector<std::string> run_column_names() {
  std::vector<std::string> names;
  for (const RunColumn& column : run_columns({})) names.push_back(column.heading.name);
  return names;
}

std::vector<std::string> separate_run_tables(const Report& report, const TableStyle& style) {
  std::vector<std::string> hidden;
  return tables_of(report, style, hidden);
}

std::string below_run_tables(const Report& report, const TableStyle& style) {
  std::vector<std::string> hidden, in_order = run_column_names();
  tables_of(report, style, hidden);
  std::erase_if(in_order, [&](const std::string& name) {
    return std::find(hidden.begin(), hidden.end(), name) == hidden.end();
  });
  std::string out =
      hidden_line(in_order, "--columns NAME,.. or all shows them", std::max(style.width, 20u));
  if (const std::string faults = fault_table(report, style); !faults.empty())
    out += (report.runs.empty() ? "" : "\n") + faults;
  if (const auto clock = report.environment.find("simulated"); clock != report.environment.end())
    out += wrapped_prose(printable("simulated on a virtual clock (" + clock->second +
                                   "): nothing was computed, so nothing was verified") +
                             '\n',
                         style, 2);
  for (const std::string& note : report.exchange_notes)
    out += wrapped_prose(printable("exchange: " + note) + '\n', style, 2);
  for (const DeviceRecord& d : report.devices)
    if (d.handicap.any())
      out += printable(fmt::format("handicapped on purpose: {} ({})", d.device.id,
                                   in_words(d.handicap))) +
             '\n';
  return out;
}

std::string run_tables(const Report& report, const TableStyle& style) {
  std::string out;
  for (const std::string& table : separate_run_tables(report, style))
    out += (out.empty() ? "" : "\n") + table;
  return out + below_run_tables(report, style);
}

}  // namespace mgpu
