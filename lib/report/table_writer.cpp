// Tables of runs. device_table.cpp has those of devices, text_table.cpp the layout of text,
// summary_sentences.cpp the summary.
#include "lib/report/table_writer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "lib/base/quantity.hpp"
#include "lib/report/case_values.hpp"
#include "lib/report/fault_words.hpp"
#include "lib/report/metric_interval.hpp"
#include "lib/report/run_groups.hpp"
#include "lib/report/scale.hpp"
#include "lib/report/shares.hpp"
#include "lib/report/summary_sentences.hpp"
#include "lib/report/text_table.hpp"

namespace mgpu {

namespace {

constexpr const char* kBest = "\x1b[1;32m";
constexpr const char* kNotOk = "\x1b[31m";

struct GroupScales {
  Scale time, rate, energy, per_unit;
  std::string rate_unit;
  std::size_t half_width = 0;    // width of the longest half interval of a time
  std::size_t spread_width = 0;  // width of the longest spread of a time
};

// Tells whether half of the 95 % interval describes both sides of the time: both are tiny, or about
// equal.
bool has_half(const Summary& time) {
  constexpr double kHardlyAnything = 0.01, kOneSided = 1.25;
  const auto median = static_cast<double>(time.median.count()),
             below = static_cast<double>((time.median - time.ci95_low).count()),
             above = static_cast<double>((time.ci95_high - time.median).count());
  if (below < 0 || above < 0) return false;
  return std::max(below, above) <= kHardlyAnything * median ||
         std::max(below, above) <= kOneSided * std::min(below, above);
}

std::string half_of(const RunRecord& run, const Scale& scale) {
  return scale.format(static_cast<double>((run.time.ci95_high - run.time.ci95_low).count()) / 2);
}

// Returns the spread after a time: "± 0.3", half of its 95 % interval, or the interval
// "(0.8..2.9)"; empty for a single sample.
std::string spread_of(const RunRecord& run, const GroupScales& scales) {
  const Summary& time = run.time;
  if (time.n < 2) return "";
  if (has_half(time))
    return fmt::format("\u00b1 {:>{}}", half_of(run, scales.time), scales.half_width);
  return fmt::format("({}..{})", scales.time.format(static_cast<double>(time.ci95_low.count())),
                     scales.time.format(static_cast<double>(time.ci95_high.count())));
}

double least_known(double least, const std::optional<double>& value) {
  if (!value || *value <= 0) return least;
  return least > 0 ? std::min(least, *value) : *value;
}

GroupScales scales_of(const RunGroup& group) {
  double fastest = 0, slowest_rate = 0, best_rate = 0, least_energy = 0, least_per_unit = 0;
  GroupScales scales;
  for (const RunRecord* run : group.runs) {
    if (run->status != Status::ok) continue;
    const auto ns = static_cast<double>(run->time.median.count());
    fastest = fastest > 0 ? std::min(fastest, ns) : ns;
    if (run->rate > 0)
      slowest_rate = slowest_rate > 0 ? std::min(slowest_rate, run->rate) : run->rate;
    best_rate = std::max(best_rate, run->rate);
    if (run->energy) {
      least_energy = least_known(least_energy, run->energy->joules);
      least_per_unit = least_known(least_per_unit, run->energy->per_unit);
    }
    if (scales.rate_unit.empty()) scales.rate_unit = run->rate_unit;
  }
  if (fastest > 0) scales.time = time_scale(fastest);
  if (best_rate > 0) scales.rate = rate_scale(slowest_rate, best_rate);
  if (least_energy > 0) scales.energy = energy_scale(least_energy);
  if (least_per_unit > 0) {
    scales.per_unit = energy_scale(least_per_unit);
    scales.per_unit.prefix += "/" + scales.rate_unit.substr(0, scales.rate_unit.rfind("/s"));
  }
  for (const RunRecord* run : group.runs)
    if (run->status == Status::ok && run->time.n >= 2 && has_half(run->time))
      scales.half_width = std::max(scales.half_width, half_of(*run, scales.time).size());
  for (const RunRecord* run : group.runs)
    if (run->status == Status::ok)
      scales.spread_width = std::max(scales.spread_width, display_width(spread_of(*run, scales)));
  return scales;
}

std::string largest_residue(const RunRecord& run) {
  const auto makespan = static_cast<double>(shown_time(run).count());
  if (run.per_device.empty() || makespan <= 0) return "-";
  double worst = 0;
  for (const PerDevice& p : run.per_device)
    if (!p.parts.unknown.empty()) return "?";
  for (const PerDevice& p : run.per_device)
    worst = std::max(worst, std::abs(static_cast<double>(p.parts.residue.count())));
  return fmt::format("{:.1f}", worst / makespan * 100);
}

// Returns the warnings of a row: those of the record, faults, unknown times, and unless the row is
// not ranked for that reason, an impossible speed-up, or too few samples for compare to test if not
// so few were asked for. On a virtual clock, all samples are equal.
std::vector<std::string> warnings_of(const RunRecord& run, const Report& report, bool unranked) {
  constexpr std::size_t kFewSamples = 5;
  std::vector<std::string> warnings = run.warnings;
  for (std::string& note : fault_notes(run)) warnings.push_back(std::move(note));
  if (report.environment.contains("simulated") || unranked || run.status != Status::ok)
    return warnings;
  if (std::string why = why_above_ideal(run); !why.empty()) warnings.push_back(std::move(why));
  const bool few_asked = report.options.contains("samples") || report.options.contains("quick");
  if (run.samples.size() < kFewSamples && !few_asked)
    warnings.push_back(
        fmt::format("only {} sample{}", run.samples.size(), run.samples.size() == 1 ? "" : "s"));
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

// Returns "3.91 +- 0.04": the energy with half of its 95 % interval.
std::string energy_cell(const RunRecord& run, const GroupScales& scales) {
  if (!run.energy || !run.energy->joules) return "-";
  return scales.energy.format(*run.energy->joules) + " \u00b1 " +
         scales.energy.format(run.energy->half_width);
}

// Returns the gain or efficiency, with a mark if it is above that of a perfect split.
std::string marked(const RunRecord& run, std::string cell, bool simulated) {
  return simulated || why_above_ideal(run).empty() ? cell : cell + " !";
}

// A column of a measured case, besides the mark, the strategy and the number of devices. `typical`:
// its width, by which columns are chosen, so that tables of a run do not differ in them.
struct RunColumn {
  TextColumn heading;
  std::size_t typical;
  std::function<std::string(const RunRecord&, const GroupScales&)> cell;
};

// Columns without importance are essential.
std::vector<RunColumn> run_columns(const GroupScales& in, bool simulated) {
  using Run = const RunRecord&;
  using Scales = const GroupScales&;
  const auto metric = [](std::optional<double> Metrics::*value, int decimals, double factor) {
    return [=](Run run, Scales) { return number_cell(run.metrics.*value, decimals, factor); };
  };
  return {
      {{"shares", "%", true, 0}, 6, [](Run run, Scales) { return shares_text(shares_of(run)); }},
      {{"time", in.time.prefix, true, 0}, 12, time_cell},
      {{"gain", "x", true, 0}, 4, metric(&Metrics::speedup, 2, 1)},
      {{"of ideal", "%", true, 0},
       8,
       [=](Run run, Scales) {
         return marked(run, number_cell(run.metrics.efficiency, 1, 100), simulated);
       }},
      {{"held back by", "", false, 0},
       12,
       [](Run run, Scales) { return what_if_word(run.bottleneck.name); }},
      {{"energy", in.energy.prefix, true, 90},
       12,
       [](Run run, Scales scales) { return energy_cell(run, scales); }},
      {{"per unit", in.per_unit.prefix, true, 80},
       8,
       [](Run run, Scales scales) {
         return run.energy && run.energy->per_unit ? scales.per_unit.format(*run.energy->per_unit)
                                                   : "-";
       }},
      {{"power", "W", true, 70},
       5,
       [](Run run, Scales) {
         return number_cell(run.energy ? run.energy->power() : std::nullopt, 0);
       }},
      {{"energy gain", "x", true, 85},
       11,
       [](Run run, Scales) {
         return number_cell(run.energy ? run.energy->gain : std::nullopt, 2);
       }},
      {{"edp", "J s", true, 3},
       8,
       [](Run run, Scales) {
         const auto edp = run.energy ? run.energy->edp() : std::nullopt;
         return edp ? fmt::format("{:.3g}", *edp) : "-";
       }},
      {{"balance", "%", true, 60}, 7, metric(&Metrics::balance, 1, 100)},
      {{"predicted", in.time.prefix, true, 50},
       9,
       [](Run run, Scales scales) {
         return run.plan.predicted
                    ? scales.time.format(static_cast<double>(run.plan.predicted->count()))
                    : "-";
       }},
      {{"rate", in.rate.prefix + in.rate_unit, true, 45},
       9,
       [](Run run, Scales scales) { return run.rate > 0 ? scales.rate.format(run.rate) : "-"; }},
      {{"imbalance", "%", true, 40},
       9,
       [](Run run, Scales) { return number_cell(imbalance_percent(run), 1); }},
      {{"filling", "%", true, 37}, 7, metric(&Metrics::filling_share, 1, 100)},
      {{"exchange", "%", true, 36}, 8, metric(&Metrics::exchange_share, 1, 100)},
      {{"comm", "%", true, 35}, 5, metric(&Metrics::comm_share, 1, 100)},
      {{"overlap", "%", true, 30}, 7, metric(&Metrics::overlap, 1, 100)},
      {{"residue", "%", true, 10}, 7, [](Run run, Scales) { return largest_residue(run); }},
      {{"verified", "", false, 5}, 8, [](Run run, Scales) { return verified_cell(run); }},
  };
}

// Returns the name by which a user chooses the column.
std::string name_of(const RunColumn& column) {
  std::string name = column.heading.name;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

// Columns of all tables of a report.
struct RunLayout {
  bool counts = false;  // rows of a table differ in their number of devices
  std::vector<std::string> columns, hidden;
};

// Tells whether the rows of some table differ in their number of devices.
bool differ_in_devices(const std::vector<RunGroup>& groups) {
  return std::any_of(groups.begin(), groups.end(), [](const RunGroup& group) {
    return std::any_of(group.runs.begin(), group.runs.end(), [&](const RunRecord* run) {
      return !is_inapplicable(*run) && devices_text(*run) != devices_text(*group.runs.front());
    });
  });
}

// Chooses the columns: those of the style, however wide; else the essential ones and the most
// important others for which there is room. Verification is in the text below the tables.
RunLayout layout_of(const Report& report, const std::vector<RunGroup>& groups,
                    const TableStyle& style) {
  constexpr std::size_t kMarks = 2, kStrategy = 17, kDevices = 3, kGap = 2, kEnough = 72;
  RunLayout layout;
  layout.counts = differ_in_devices(groups);
  const bool simulated = report.environment.contains("simulated");
  const auto any = [&](std::optional<double> Metrics::*value) {
    return std::any_of(report.runs.begin(), report.runs.end(),
                       [&](const RunRecord& run) { return (run.metrics.*value).has_value(); });
  };
  const bool has_energy = std::any_of(report.runs.begin(), report.runs.end(),
                                      [](const RunRecord& run) { return run.energy.has_value(); });
  std::vector<RunColumn> columns = run_columns({}, simulated);
  const auto chosen = [&](const std::string& name) {
    return std::find(style.columns.begin(), style.columns.end(), name) != style.columns.end();
  };
  std::erase_if(columns, [&](const RunColumn& column) {
    const std::string name = name_of(column);
    const bool of_energy =
        name.starts_with("energy") || name == "per-unit" || name == "power" || name == "edp";
    if (of_energy && !has_energy) return true;
    if (!style.columns.empty()) return !chosen(name) || (simulated && name == "verified");
    return name == "verified" || name == "edp" ||
           (name == "exchange" && !any(&Metrics::exchange_share)) ||
           (name == "filling" && !any(&Metrics::filling_share));
  });
  const auto room = [&] {
    std::size_t sum = kMarks + kGap + kStrategy + (layout.counts ? kGap + kDevices : 0);
    for (const RunColumn& column : columns) sum += kGap + column.typical;
    return sum;
  };
  while (style.columns.empty() && room() > style.width && !columns.empty()) {
    const auto is_optional = [](const RunColumn& c) { return c.heading.importance > 0; };
    auto least = std::find_if(columns.begin(), columns.end(), is_optional);
    for (auto other = least; other != columns.end(); ++other)
      if (is_optional(*other) && other->heading.importance < least->heading.importance)
        least = other;
    if (least == columns.end() && style.width >= kEnough) break;
    if (least == columns.end()) --least;  // a narrow terminal drops the last essential ones, too
    layout.hidden.push_back(name_of(*least));
    columns.erase(least);
  }
  for (const RunColumn& column : columns) layout.columns.push_back(name_of(column));
  return layout;
}

// `mark`: of the rank, or "!" for a row with warnings.
TextRow run_row(const RunRecord& run, const std::string& label, const std::string& mark,
                const RunLayout& layout, const std::vector<RunColumn>& columns,
                const GroupScales& scales) {
  TextRow row{{mark, label}};
  if (layout.counts) row.cells.push_back(devices_text(run));
  if (run.status != Status::ok) {
    const std::string why = run.reason.value_or("");
    if (!columns.empty())
      row.cells.push_back(std::string(to_string(run.status)) + (why.empty() ? "" : ": " + why));
    row.color = kNotOk;
    return row;
  }
  for (const RunColumn& column : columns) row.cells.push_back(column.cell(run, scales));
  if ((mark.starts_with('*') || mark.starts_with('=')) && impossible_speedup(run, false).empty())
    row.color = kBest;
  return row;
}

std::string wrapped(const std::string& text, const TableStyle& style) {
  return wrapped_prose(printable(text) + '\n', {std::max(style.width, 20u), false, true}, 2);
}

// Returns lines such as "? fewer than 3 samples: equal and dynamic": each fact once. Load of other
// programs is one fact, whatever its amount.
std::string notes_of(const RunGroup& group, const Report& report, const TableStyle& style) {
  const std::vector<std::string> names = group.names();
  RowNotes unranked, warnings;
  std::vector<std::string> measured, loaded, inapplicable;
  std::vector<double> loads;
  for (std::size_t k = 0; k < group.runs.size(); ++k) {
    const RunRecord& run = *group.runs[k];
    if (is_inapplicable(run)) {
      inapplicable.push_back(names[k]);
      continue;
    }
    measured.push_back(names[k]);
    const bool is_unranked = group.ranks[k] == Rank::unknown;
    if (is_unranked) unranked.add(why_unranked(run), names[k]);
    for (const std::string& warning : warnings_of(run, report, is_unranked)) {
      if (const auto load = other_load_in(warning)) {
        loads.push_back(*load), loaded.push_back(names[k]);
      } else {
        warnings.add(warning, names[k]);
      }
    }
  }
  std::string out;
  const auto tell = [&](const char* mark) {
    return [&, mark](const std::string& what, const std::vector<std::string>& rows) {
      out += wrapped(fmt::format("{} {}", mark, RowNotes::with_rows(what, rows, measured)), style);
    };
  };
  unranked.each(tell("?"));
  if (!loads.empty()) tell("!")(other_load_words(loads), loaded);
  warnings.each(tell("!"));
  if (!inapplicable.empty())
    out += wrapped(
        "not applicable to iterative work: " + fmt::format("{}", fmt::join(inapplicable, ", ")),
        style);
  return out;
}

// Returns what each device did in the sample that the record shows, one row per case and device.
std::string devices_table(const RunGroup& group, const TableStyle& style) {
  std::vector<TextColumn> columns = {
      {"strategy", "", false, 0, true}, {"device", "", false, 0},  {"items", "", true, 0},
      {"share", "%", true, 0},          {"busy", "", true, 0},     {"upload", "", true, 40},
      {"compute", "", true, 60},        {"download", "", true, 30}};
  const bool exchanges =
      std::any_of(group.runs.begin(), group.runs.end(), [](const RunRecord* run) {
        return std::any_of(run->per_device.begin(), run->per_device.end(),
                           [](const PerDevice& p) { return p.parts.exchanges; });
      });
  if (exchanges) columns.push_back({"exchange", "", true, 20});
  columns.push_back({"waiting", "", true, 0});
  const bool pools = std::any_of(group.runs.begin(), group.runs.end(), [](const RunRecord* run) {
    return std::any_of(run->per_device.begin(), run->per_device.end(),
                       [](const PerDevice& p) { return p.pool.has_value(); });
  });
  for (const auto& [name, unit, importance] : {std::tuple{"slices", "", 16},
                                               {"mean slice", "", 15},
                                               {"utilisation", "%", 18},
                                               {"memory", "%", 14},
                                               {"saved", "%", 13}})
    columns.push_back({name, unit, true, importance});
  if (pools) {
    columns.push_back({"reused", "", true, 12});
    columns.push_back({"evicted", "", true, 11});
  }
  std::vector<TextRow> rows;
  const std::vector<std::string> names = group.names();
  for (std::size_t k = 0; k < group.runs.size(); ++k) {
    const RunRecord& run = *group.runs[k];
    const std::vector<DeviceShare> shares = shares_of(run);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const DeviceParts& parts = run.per_device[i].parts;
      const auto time = [&](Nanos t) -> std::string {
        if (!parts.unknown.empty()) return "?";
        return t == Nanos{} ? "-" : format_duration(t);
      };
      TextRow& row = rows.emplace_back();
      row.cells = {i == 0 ? names[k] : "",   shares[i].device,    grouped(parts.items),
                   share_percent(shares, i), time(parts.busy),    time(parts.upload),
                   time(parts.compute),      time(parts.download)};
      if (exchanges) row.cells.push_back(time(parts.exchange));
      row.cells.push_back(time(shown_time(run) - parts.busy));
      const PerDevice& mine = run.per_device[i];
      const bool known = parts.unknown.empty();
      row.cells.insert(
          row.cells.end(),
          {grouped(std::uint64_t{parts.slices}),
           time(mine.slice_total / std::max<std::int64_t>(parts.slices, 1)),
           number_cell(known ? std::optional(mine.utilisation) : std::nullopt, 1, 100),
           number_cell(mine.memory_used, 1, 100), number_cell(mine.memory_saved, 1, 100)});
      if (pools) {
        row.cells.push_back(mine.pool ? grouped(mine.pool->reused) : "-");
        row.cells.push_back(mine.pool ? grouped(mine.pool->evicted) : "-");
      }
    }
  }
  if (rows.empty()) return "";
  std::vector<std::string> hidden;
  return "\n" + wrapped("Devices, in the sample nearest the median", style) +
         draw_table(std::move(columns), std::move(rows), style.width, style.color, hidden) +
         hidden_line(hidden, "a wider terminal", std::max(style.width, 20u));
}

std::string run_table(const RunGroup& group, const Report& report, const RunLayout& layout,
                      const TableStyle& style) {
  const GroupScales scales = scales_of(group);
  const bool simulated = report.environment.contains("simulated");
  std::vector<RunColumn> columns = run_columns(scales, simulated);
  std::erase_if(columns, [&](const RunColumn& column) {
    return std::find(layout.columns.begin(), layout.columns.end(), name_of(column)) ==
           layout.columns.end();
  });
  std::vector<TextColumn> headings = {{"", "", false, 0, false}, {"strategy", "", false, 0, true}};
  if (layout.counts) headings.push_back({"dev", "", true, 0, false});
  for (RunColumn& column : columns) {
    column.heading.importance = 0;  // columns were chosen for all tables
    headings.push_back(column.heading);
  }
  std::vector<TextRow> rows;
  for (std::size_t k = 0; k < group.runs.size(); ++k)
    if (!is_inapplicable(*group.runs[k]))
      rows.push_back(run_row(
          *group.runs[k], group.labels[k],
          std::string(mark_of(group.ranks[k])) +
              (warnings_of(*group.runs[k], report, group.ranks[k] == Rank::unknown).empty() ? ""
                                                                                            : "!"),
          layout, columns, scales));
  std::string out = wrapped(group.title, style);
  for (const std::string& sentence : verdict_of(group, simulated)) out += wrapped(sentence, style);
  std::vector<std::string> hidden;
  if (!rows.empty())
    out +=
        '\n' + draw_table(std::move(headings), std::move(rows), style.width, style.color, hidden);
  out += notes_of(group, report, style);
  for (const std::string& sentence : remarks_on(group)) out += wrapped(sentence, style);
  return out + (style.per_device ? devices_table(group, style) : "");
}

// Returns "Every result was verified.", or which were not.
std::string verification_of(const Report& report, const std::vector<RunGroup>& groups) {
  std::vector<std::string> unverified;
  std::size_t ok = 0, partly = 0;
  for (const RunGroup& group : groups) {
    const std::vector<std::string> names = group.names();
    for (std::size_t k = 0; k < group.runs.size(); ++k) {
      const RunRecord& run = *group.runs[k];
      if (run.status != Status::ok) continue;
      ++ok;
      partly += run.verify.checked > 0 && run.verify.checked < run.samples.size();
      if (run.verify.status != VerifyStatus::passed)
        unverified.push_back(groups.size() == 1 ? names[k] : names[k] + " of " + group.title);
    }
  }
  if (ok == 0 || report.environment.contains("simulated")) return "";
  if (unverified.size() == ok) return "No result was verified.";
  if (!unverified.empty()) return fmt::format("Not verified: {}.", fmt::join(unverified, "; "));
  return partly == 0 ? "Every result was verified."
                     : "Every row was verified; of large results, the first and last sample.";
}

}  // namespace

std::string what_if_word(const std::string& name) {
  if (name == "unknown") return "?";
  const bool what_if = name.starts_with("free_") || name.starts_with("perfect_");
  return what_if ? name.substr(name.find('_') + 1) : name;
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

std::string RowNotes::with_rows(const std::string& what, std::span<const std::string> rows,
                                std::span<const std::string> all) {
  constexpr std::size_t kFewLeftOut = 2;
  if (all.size() == 1) return what;
  std::vector<std::string> others;
  for (const std::string& row : all)
    if (std::find(rows.begin(), rows.end(), row) == rows.end()) others.push_back(row);
  if (others.empty()) return what + " (all rows)";
  const bool most = others.size() <= kFewLeftOut && rows.size() > 2 * others.size();
  return fmt::format("{} ({})", what,
                     most ? fmt::format("all rows but {}", in_words(others))
                          : fmt::format("{}", fmt::join(rows, ", ")));
}

std::vector<std::string> run_column_names() {
  std::vector<std::string> names;
  for (const RunColumn& column : run_columns({}, false)) names.push_back(name_of(column));
  return names;
}

std::vector<std::string> separate_run_tables(const Report& report, const TableStyle& style) {
  const std::vector<RunGroup> groups = group_runs(report);
  const RunLayout layout = layout_of(report, groups, style);
  std::vector<std::string> tables;
  for (const RunGroup& group : groups) tables.push_back(run_table(group, report, layout, style));
  return tables;
}

std::string below_run_tables(const Report& report, const TableStyle& style) {
  const std::vector<RunGroup> groups = group_runs(report);
  std::string out;
  if (const std::string verified = verification_of(report, groups); !verified.empty())
    out += wrapped(verified, style);
  if (std::any_of(report.runs.begin(), report.runs.end(),
                  [](const RunRecord& run) { return run.energy && run.energy->joules; }))
    out += wrapped(
        "Energy is that of the devices' own sensors, whose systematic error is up to 5 %.", style);
  std::vector<std::string> hidden = layout_of(report, groups, style).hidden,
                           in_order = run_column_names();
  std::erase_if(in_order, [&](const std::string& name) {
    return std::find(hidden.begin(), hidden.end(), name) == hidden.end();
  });
  if (!report.runs.empty())
    out += hidden_line(in_order, "--columns NAME,.. or all shows them", std::max(style.width, 20u));
  if (const std::string faults = fault_table(report, style); !faults.empty())
    out += (report.runs.empty() ? "" : "\n") + faults;
  for (const Fault& fault : report.faults) out += wrapped(fault_sentence(fault, nullptr), style);
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
