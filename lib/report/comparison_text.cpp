// A comparison as text and as Markdown, with the same cells, and as JSON.
#include "lib/report/comparison_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "lib/base/add_once.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/quote.hpp"
#include "lib/report/json_build.hpp"
#include "lib/report/record_fields.hpp"
#include "lib/report/table_writer.hpp"
#include "lib/report/text_table.hpp"

namespace mgpu {

namespace {

constexpr const char* kRegression = "\x1b[1;31m";
constexpr const char* kImprovement = "\x1b[32m";

std::string figure(Compared metric, const ComparedSide& side) {
  if (side.values.empty()) return "-";
  switch (metric) {
    case Compared::time:
      return format_duration(Nanos{std::llround(side.figure)});
    case Compared::speedup:
      return fmt::format("{:.2f} x", side.figure);
    case Compared::efficiency:
      return fmt::format("{:.1f} %", side.figure * 100);
    case Compared::imbalance:
      return fmt::format("{:.1f} %", (side.figure - 1) * 100);
    case Compared::energy:
      return fmt::format("{:.3g} J", side.figure);
  }
  return "";
}

// Tells whether the metric is shown in percent, so that it changes by percentage points.
bool in_points(Compared metric) {
  return metric == Compared::efficiency || metric == Compared::imbalance;
}

// Returns the number of "+3.1 %" of the figure in BASE, or of "-1.4 pp" for a metric in percent.
std::string change_number(const ComparisonRow& row, double ratio) {
  return fmt::format("{:+.1f}", (ratio - 1) * 100 * (in_points(row.metric) ? row.base.figure : 1));
}

std::string change_text(const ComparisonRow& row, double ratio) {
  return change_number(row, ratio) + (in_points(row.metric) ? " pp" : " %");
}

std::string p_text(const ComparisonRow& row) {
  if (!row.p_adjusted) return "-";
  return *row.p_adjusted < 1e-4 ? "<0.0001" : fmt::format("{:.4f}", *row.p_adjusted);
}

std::string verdict(const ComparisonRow& row) {
  std::string text = to_string(row.change);
  if (row.suspect) text += ", slower";
  if (row.confirmation && row.change == Change::regression)
    text += fmt::format(", confirmed by {} runs", row.confirmation->runs);
  return text;
}

// Returns: case, devices, metric, base, new, change, interval, p, verdict.
std::vector<std::string> cells(const ComparisonRow& row) {
  const bool known = row.ratio.has_value();
  return {row.label,
          std::to_string(row.devices),
          info(row.metric).name,
          figure(row.metric, row.base),
          figure(row.metric, row.fresh),
          known ? change_text(row, row.ratio->ratio) : "-",
          known ? fmt::format("{} .. {}", change_number(row, row.ratio->low),
                              change_text(row, row.ratio->high))
                : "-",
          p_text(row),
          verdict(row)};
}

std::vector<TextColumn> columns() {
  return {{"strategy", "", false, 0, true}, {"dev", "", true, 50, false},
          {"metric", "", false, 0, false},  {"BASE", "", true, 0, false},
          {"NEW", "", true, 0, false},      {"change", "", true, 0, false},
          {"interval", "95 %", true, 60},   {"p", "Holm", true, 40, false},
          {"verdict", "", false, 0, false}};
}

using Rows = std::vector<const ComparisonRow*>;

// Calls f(title, rows) for each table with the rows that are shown, in the order of their first.
template <typename F>
void each_title(const Comparison& comparison, F f) {
  std::vector<std::string> titles;
  std::map<std::string, Rows> tables;
  for (const std::size_t k : comparison.shown) {
    Rows& rows = tables[comparison.rows[k].title];
    if (rows.empty()) titles.push_back(comparison.rows[k].title);
    rows.push_back(&comparison.rows[k]);
  }
  for (const std::string& title : titles) f(title, tables[title]);
}

// Calls f(mark, note) for each note on the rows of a table. '!': a warning, '?': why there is
// no verdict.
template <typename F>
void each_note(const Rows& rows, F f) {
  RowNotes warnings, undecided;
  std::vector<std::string> cases, inconclusive;
  std::set<std::size_t> counts;
  for (const ComparisonRow* row : rows) counts.insert(row->devices);
  for (const ComparisonRow* of : rows) {
    const ComparisonRow& row = *of;
    const std::string whom =
        row.label + (counts.size() > 1
                         ? fmt::format(" ({} device{})", row.devices, row.devices == 1 ? "" : "s")
                         : "");
    add_once(cases, whom);
    for (const std::string& warning : row.warnings) warnings.add(warning, whom);
    if (row.reason.empty()) continue;
    inconclusive.push_back(fmt::format("{} of {}", info(row.metric).name, whom));
    undecided.add(row.reason, inconclusive.back());
  }
  undecided.each([&](const std::string& what, const std::vector<std::string>& whose) {
    f('?', whose.size() == inconclusive.size() ? "inconclusive: " + what
                                               : RowNotes::with_rows(what, whose, inconclusive));
  });
  warnings.each([&](const std::string& what, const std::vector<std::string>& whose) {
    f('!', RowNotes::with_rows(what, whose, cases));
  });
}

// Calls f(why, "case, case and 198 more"), since there may be hundreds; JSON lists them all.
template <typename F>
void each_uncompared(const Comparison& comparison, F f) {
  RowNotes reasons;
  for (const UncomparedCase& c : comparison.uncompared) reasons.add(c.what, c.name);
  reasons.each([&](const std::string& what, const std::vector<std::string>& cases) {
    f(what, first_few(cases));
  });
}

const char* color_of(Change change) {
  return change == Change::regression    ? kRegression
         : change == Change::improvement ? kImprovement
                                         : "";
}

const ComparisonRow* worst_regression(const Comparison& comparison) {
  const ComparisonRow* worst = nullptr;
  double most = 0;
  for (const ComparisonRow& row : comparison.rows) {
    const double change = row.ratio ? std::abs(std::log(row.ratio->ratio)) : 0;
    // Takes the first of equal changes: times come before metrics derived from them.
    if (row.change != Change::regression || change <= most + 1e-9) continue;
    worst = &row;
    most = change;
  }
  return worst;
}

// Lists tables whose floor is measured noise: "13.0 % in merkle leaves=4096, resident".
std::string larger_floors(const Comparison& comparison) {
  std::string text;
  each_title(comparison, [&](const std::string& title, const Rows& rows) {
    double most = 0;
    for (const ComparisonRow* row : rows) most = std::max(most, row->floor);
    if (most > comparison.floor)
      text += fmt::format("{}{:.1f} % in {}", text.empty() ? "" : "; ", most * 100, title);
  });
  return text;
}

std::string counted(std::size_t n, const char* one, const char* many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

// Returns "a.json and b.json, mgpu-bench 0.2.0 (76aa88e40555), 2026-11-27T16:43:12Z, 4 x NVIDIA
// H100".
std::string words_of(const ComparedSource& source) {
  std::string words = in_words(source.names);
  if (!source.tools.empty()) words += ", mgpu-bench " + in_words(source.tools);
  if (!source.started.empty()) words += fmt::format(", {}", fmt::join(source.started, " to "));
  if (!source.devices.empty()) words += ", " + in_words(source.devices);
  return words;
}

// Says that the floor is a guess if a single run of BASE cannot show by how much runs differ.
std::string guess_words(const Comparison& comparison) {
  const bool known = comparison.interleaved || comparison.options.floor ||
                     std::any_of(comparison.rows.begin(), comparison.rows.end(),
                                 [](const auto& row) { return row.base.runs.size() > 1; });
  return known || comparison.rows.empty()
             ? ""
             : ", a guess of what runs differ by: several BASE show it (compare BASE ... -- NEW)";
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '|' || c == '*' || c == '_' || c == '`' || c == '<' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

ComparedSource source_of(std::vector<std::string> names, std::span<const Report> reports) {
  ComparedSource source;
  source.names = std::move(names);
  const auto add = [](std::vector<std::string>& texts, std::string text) {
    if (!text.empty()) add_once(texts, std::move(text));
  };
  for (const Report& report : reports) {
    const ToolInfo& tool = report.tool;
    add(source.tools, tool.version + (tool.git.empty() ? "" : " (" + tool.git + ")"));
    std::map<std::string, std::size_t> counts;
    for (const DeviceRecord& device : report.devices) ++counts[device.device.name];
    for (const auto& [name, count] : counts)
      add(source.devices, count == 1 ? name : fmt::format("{} x {}", count, name));
    if (report.started.empty()) continue;
    if (source.started.size() == 2) source.started.pop_back();
    add(source.started, report.started);
  }
  return source;
}

void show_only_changed(Comparison& comparison) {
  const auto size = [&](std::size_t k) {
    const auto& ratio = comparison.rows[k].ratio;
    return ratio ? std::abs(std::log(ratio->ratio)) : 0;
  };
  std::erase_if(comparison.shown, [&](std::size_t k) {
    const ComparisonRow& row = comparison.rows[k];
    return !row.suspect && row.change != Change::regression && row.change != Change::improvement;
  });
  std::stable_sort(comparison.shown.begin(), comparison.shown.end(),
                   [&](std::size_t a, std::size_t b) { return size(a) > size(b); });
}

std::string change_words(const ComparisonRow& row) {
  const std::vector<std::string> all = cells(row);
  return fmt::format("{} {} -> {}, {} ({}), {}{}", info(row.metric).name,
                     figure(row.metric, row.base), figure(row.metric, row.fresh), all[5], all[6],
                     verdict(row), row.reason.empty() ? "" : ": " + row.reason);
}

std::string comparison_words(const Comparison& comparison) {
  std::string words =
      fmt::format("{}, {}, {} the same, {} inconclusive",
                  counted(comparison.count(Change::regression), "regression", "regressions"),
                  counted(comparison.count(Change::improvement), "improvement", "improvements"),
                  comparison.count(Change::same), comparison.count(Change::inconclusive));
  if (comparison.suspects() > 0)
    words += fmt::format(" ({} slower, which is no verdict: see the notes)", comparison.suspects());
  if (comparison.lost() > 0)
    words += fmt::format(", {} missing in NEW", counted(comparison.lost(), "case", "cases"));
  if (const ComparisonRow* worst = worst_regression(comparison)) {
    words +=
        fmt::format("; the largest regression: {} of {} on {}, {}, {}", info(worst->metric).name,
                    worst->label, counted(worst->devices, "device", "devices"), worst->title,
                    change_text(*worst, worst->ratio->ratio));
  }
  return words;
}

std::vector<std::string> comparison_column_names() {
  return {"dev", "change", "interval", "p", "verdict"};
}

std::string comparison_tables(const Comparison& comparison, const ComparisonSources& sources,
                              const TableStyle& style) {
  std::vector<std::string> hidden;
  const TableStyle prose{std::max(style.width, 20u), false, true};
  std::string out = wrapped_prose(printable(comparison_words(comparison)) + '\n', prose, 2);
  for (const auto& [side, source] : {std::pair("BASE: ", &sources.base), {"NEW: ", &sources.fresh}})
    out += wrapped_prose(printable(side + words_of(*source)) + '\n', prose, 2);
  out += '\n';
  each_title(comparison, [&](const std::string& title, const Rows& all) {
    std::vector<TextRow> rows;
    for (const ComparisonRow* row : all) rows.push_back({cells(*row), color_of(row->change)});
    std::vector<TextColumn> shown = columns();
    choose_columns(comparison_column_names(), style.columns, shown, rows);
    out += wrapped_prose(printable(title) + '\n', prose, 2) +
           draw_table(std::move(shown), std::move(rows), style.width, style.color, hidden);
    each_note(all, [&](char mark, const std::string& note) {
      out += wrapped_prose(printable(fmt::format("{} {}", mark, note)) + '\n', prose, 2);
    });
    out += '\n';
  });
  out += hidden_line(hidden, "--columns NAME,.. or all shows them", prose.width);
  if (comparison.interleaved && !comparison.rows.empty())
    out += wrapped_prose("change: the median over the rounds of NEW / BASE, each round by itself\n",
                         prose, 2);
  each_uncompared(comparison, [&](const std::string& why, const std::string& cases) {
    out +=
        wrapped_prose(printable(fmt::format("not compared: {}: {}", cases, why)) + '\n', style, 2);
  });
  for (const EnvironmentDifference& d : comparison.differences)
    out += printable("differs: " + to_string(d)) + '\n';
  if (const std::string larger = larger_floors(comparison); !larger.empty())
    out += printable(fmt::format("floor {:.1f} %, by the noise that calibrate found: {}",
                                 comparison.floor * 100, larger)) +
           '\n';
  if (const std::string guess = guess_words(comparison); !guess.empty())
    out +=
        wrapped_prose(fmt::format("floor {:.1f} %{}\n", comparison.floor * 100, guess), prose, 2);
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

std::string comparison_markdown(const Comparison& comparison, const ComparisonSources& sources) {
  const bool few = std::any_of(comparison.rows.begin(), comparison.rows.end(),
                               [](const ComparisonRow& row) { return row.few; });
  const bool of_runs = sources.base.names.size() + sources.fresh.names.size() > 2;
  std::string out = fmt::format(
      "### mgpu-bench: {}\n\nBASE: {}.\nNEW: {}.\nChanges up to {:.1f} % count as none{}; p is "
      "{}.\n",
      escaped(comparison_words(comparison)), escaped(words_of(sources.base)),
      escaped(words_of(sources.fresh)), comparison.floor * 100, guess_words(comparison),
      comparison.interleaved ? "by Wilcoxon's signed-rank test over rounds, by Holm over the table"
      : of_runs              ? "by Student's test of medians of runs, by Holm over the table"
      : few                  ? "by Mann and Whitney's test, of few samples by Student's test of "
                               "logarithms, by Holm over the table"
                             : "by Mann and Whitney's test, by Holm over the table");
  each_title(comparison, [&](const std::string& title, const Rows& rows) {
    out += fmt::format("\n**{}**\n\n|", escaped(title));
    std::string rule = "\n|";
    for (const TextColumn& c : columns()) {
      out += fmt::format(" {}{} |", c.name, c.unit.empty() ? "" : " (" + c.unit + ")");
      rule += c.right ? " ---: |" : " --- |";
    }
    out += rule + '\n';
    for (const ComparisonRow* shown : rows) {
      const ComparisonRow& row = *shown;
      const bool loud = row.change == Change::regression || row.change == Change::improvement;
      const std::vector<std::string> all = cells(row);
      out += '|';
      for (std::size_t k = 0; k < all.size(); ++k)
        out += loud && k + 1 == all.size() ? fmt::format(" **{}** |", escaped(all[k]))
                                           : fmt::format(" {} |", escaped(all[k]));
      out += '\n';
    }
  });
  const std::string larger = larger_floors(comparison);
  std::string notes;
  each_title(comparison, [&](const std::string& title, const Rows& rows) {
    each_note(rows, [&](char, const std::string& note) {
      notes += fmt::format("- {}: {}\n", escaped(title), escaped(note));
    });
  });
  if (!notes.empty()) out += '\n' + notes;
  if (!larger.empty() || !comparison.uncompared.empty() || !comparison.differences.empty())
    out += '\n';
  if (!larger.empty())
    out += fmt::format("- by the noise that calibrate found, changes count as none up to {}\n",
                       escaped(larger));
  each_uncompared(comparison, [&](const std::string& why, const std::string& cases) {
    out += fmt::format("- not compared: {}: {}\n", escaped(cases), escaped(why));
  });
  for (const EnvironmentDifference& d : comparison.differences)
    out += fmt::format("- differs: {}\n", escaped(to_string(d)));
  return out;
}

// The fields of a comparison as JSON.

namespace {

constexpr DocumentId kCompareId{"mgpu-bench/compare", 3};
constexpr auto kChanges = {Change::regression, Change::improvement, Change::same,
                           Change::inconclusive, Change::informative};

struct ComparisonDocument {
  ToolInfo tool;
  ComparisonSources sources;
  Comparison comparison;
  int exit_code = 0;
};

// Values that were drawn, by side.
using DrawnValues = std::map<std::string, std::vector<std::uint32_t>>;

std::vector<DrawnValues> drawn_for(const ComparisonRow& row, const Comparison& all) {
  const std::size_t base = row.base.values.size(), fresh = row.fresh.values.size();
  std::vector<DrawnValues> drawn;
  if (all.interleaved) {
    for (Resample& one : pair_resamples(fresh, all.options.bootstrap))
      drawn.push_back({{"pairs", std::move(one.fresh)}});
  } else {
    for (Resample& one : ratio_resamples(base, fresh, all.options.bootstrap))
      drawn.push_back({{"base", std::move(one.base)}, {"new", std::move(one.fresh)}});
  }
  return drawn;
}

bool has_values(const ComparedSide& side, bool) { return !side.values.empty(); }

using Interval = std::vector<double>;
constexpr const char* kIntervalSchema =
    R"({"type": ["array", "null"], "items": {"type": "number"}, "minItems": 2, "maxItems": 2})";
constexpr const char* kShareSchema =
    R"({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1})";
constexpr const char* kProbabilitySchema = R"({"type": "number", "minimum": 0, "maximum": 1})";

template <auto Member>
constexpr auto method = [](const ComparisonDocument& of) { return of.comparison.*Member; };
template <auto Member>
constexpr auto bootstrap =
    [](const ComparisonDocument& of) { return of.comparison.options.bootstrap.*Member; };

}  // namespace

template <>
inline constexpr std::initializer_list<Change> kAllOf<Change> = kChanges;
template <>
inline constexpr std::initializer_list<TestMethod> kAllOf<TestMethod> = {
    TestMethod::mann_whitney_exact, TestMethod::mann_whitney_normal, TestMethod::signed_rank_exact,
    TestMethod::signed_rank_normal, TestMethod::student_log,         TestMethod::student_runs};

template <>
const Description<ComparedSide>& description<ComparedSide>() {
  using S = ComparedSide;
  static const Description<S> kSide{
      {computed<[](const S& side) { return side.values.size(); }>("n"),
       field<&S::median>("median", "of the values").null_unless(has_values),
       field<&S::figure>("figure",
                         "what run and report show of this result: a speed-up is a ratio of "
                         "medians there; ratio and interval are of these")
           .null_unless(has_values),
       field<&S::values>("values"),
       field<&S::runs>("runs", "medians of the runs; absent: of rounds").if_any()},
      "",
      "side"};
  return kSide;
}

template <>
const Description<Confirmation>& description<Confirmation>() {
  static const Description<Confirmation> kConfirmation{
      {field<&Confirmation::runs>("runs"), field<&Confirmation::agreed>("agreed")}};
  return kConfirmation;
}

template <>
const Description<ComparisonRow>& description<ComparisonRow>() {
  using R = ComparisonRow;
  static constexpr auto kCompared = [](const R& row) { return row.ratio.has_value(); };
  static const Description<R> kRow{
      {field<&R::name>("case"),
       field<&R::parts, &CaseParts::suite>("suite"),
       field<&R::parts, &CaseParts::params>("params"),
       field<&R::parts, &CaseParts::strategy>("strategy"),
       field<&R::parts, &CaseParts::strategy_params>("strategy_params"),
       field<&R::parts, &CaseParts::devices>("devices", "ids in BASE"),
       field<&R::parts, &CaseParts::mode>("mode"),
       computed<[](const R& row) { return std::string(info(row.metric).name); }>("metric"),
       computed<[](const R& row) { return std::string(info(row.metric).unit); }>("unit"),
       computed<[](const R& row) { return info(row.metric).higher_is_better; }>("higher_is_better"),
       field<&R::floor>("floor", "of this row: the noise that calibrate found, where that is more"),
       field<&R::base>("base"),
       field<&R::fresh>("new"),
       field<&R::ratio, &RatioInterval::ratio>("ratio", "new / base"),
       computed<[](const R& row) {
         return row.ratio ? Interval{row.ratio->low, row.ratio->high} : Interval{};
       }>("interval")
           .null_unless([](const R& row, bool) { return row.ratio.has_value(); })
           .with_schema(kIntervalSchema),
       group<R>("test", "",
                {field<&R::test, &TestResult::method>("method"),
                 field<&R::test, &TestResult::statistic>("statistic"),
                 field<&R::test, &TestResult::p>("p").with_schema(kProbabilitySchema),
                 field<&R::p_adjusted>("p_adjusted").with_schema(kProbabilitySchema)})
           .null_unless([](const R& row, bool) { return row.test.has_value(); })
           .with_schema(R"({"type": ["object", "null"]})"),
       field<&R::change>("verdict", "informative: of a metric that is not judged"),
       field_as<TextOrNull, &R::reason>("reason"),
       field<&R::suspect>("slower",
                          "inconclusive, and slower by more than the floor as far as is known"),
       field<&R::warnings>("warnings"),
       field<&R::confirmation>("confirmation").if_any(),
       computed<[](const R& row) { return row.resamples; }>(
           "resamples", "which values every resample of the interval drew, by index")
           .when(kCompared)
           .if_any()},
      "",
      "row"};
  return kRow;
}

template <>
const Description<EnvironmentDifference>& description<EnvironmentDifference>() {
  using D = EnvironmentDifference;
  static const Description<D> kDifference{
      {field<&D::field>("field", "what --ignore takes"), field<&D::what>("what"),
       field<&D::base>("base"), field<&D::fresh>("new"),
       field<&D::decisive>("decisive", "it changes what is measured")}};
  return kDifference;
}

template <>
const Description<UncomparedCase>& description<UncomparedCase>() {
  using C = UncomparedCase;
  static const Description<C> kUncompared{
      {field<&C::name>("case"), field<&C::what>("what"),
       field<&C::lost>("lost", "the base has figures of it, the new result has none"),
       field<&C::without_base>("without_base", "the new result has figures of it, the base none")}};
  return kUncompared;
}

template <>
const Description<ComparedSource>& description<ComparedSource>() {
  using S = ComparedSource;
  static const Description<S> kSource{
      {field<&S::names>("names", "the files, or what was run"),
       field<&S::tools>("tools", "versions of mgpu-bench, each once"),
       field<&S::started>("started", "of the first and of the last report, RFC 3339 in UTC"),
       field<&S::devices>("devices", "their names, with numbers, each once")},
      "",
      "source"};
  return kSource;
}

template <>
const Description<ComparisonDocument>& description<ComparisonDocument>() {
  using D = ComparisonDocument;
  static const Description<D> kDocument{
      {document_id<D, kCompareId>(), field<&D::tool>("tool"),
       field<&D::exit_code>("exit_code", "of compare, as in the table of exit codes"),
       field<&D::sources, &ComparisonSources::base>("base"),
       field<&D::sources, &ComparisonSources::fresh>("new"),
       group<D>(
           "method", "",
           {computed<method<&Comparison::interleaved>>("interleaved",
                                                       "values are of rounds, in pairs"),
            computed<[](const D& of) -> std::optional<std::string> {
              if (!of.comparison.interleaved) return std::nullopt;
              return of.comparison.options.rounds == RoundValue::minimum ? "minimum" : "median";
            }>("round_value", "what stands for a round; null without rounds"),
            computed<[](const D& of) {
              return std::string(of.comparison.interleaved ? "median of ratios of rounds"
                                                           : "ratio of medians");
            }>("estimate"),
            computed<[](const D&) { return std::string("percentile bootstrap"); }>("interval"),
            computed<bootstrap<&BootstrapOptions::level>>("level").with_schema(kShareSchema),
            computed<bootstrap<&BootstrapOptions::resamples>>("resamples"),
            computed<bootstrap<&BootstrapOptions::seed>>("seed"),
            computed<[](const D&) { return std::string("holm"); }>("correction"),
            computed<[](const D& of) { return of.comparison.options.alpha; }>("alpha").with_schema(
                kShareSchema),
            computed<method<&Comparison::floor>>(
                "floor", "changes up to this share count as none, where a row says nothing else")}),
       computed<method<&Comparison::differences>>("differences"),
       computed<method<&Comparison::rows>>("rows"),
       computed<method<&Comparison::uncompared>>("uncompared"), computed<[](const D& of) {
         std::map<std::string, std::size_t> counts;
         for (const Change change : kChanges)
           counts[to_string(change)] = of.comparison.count(change);
         return counts;
       }>("counts")},
      "Times are nanoseconds. Unknown keys may appear in any object and are to be ignored."};
  return kDocument;
}

std::string comparison_json(const Comparison& comparison, const ComparisonSources& sources,
                            const ToolInfo& tool, int exit_code, bool resamples) {
  ComparisonDocument document{tool, sources, comparison, exit_code};
  for (ComparisonRow& row : document.comparison.rows)
    if (resamples && row.ratio) row.resamples = drawn_for(row, comparison);
  return json_text(Kind<ComparisonDocument>::write(document));
}

std::string comparison_schema() {
  return schema_document<ComparisonDocument>(kCompareId, "mgpu-bench comparison of two results");
}

}  // namespace mgpu
