#include "lib/report/trend_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/base/quantity.hpp"
#include "lib/report/record_fields.hpp"
#include "lib/report/text_table.hpp"

namespace mgpu {
namespace {

constexpr DocumentId kTrendId{"mgpu-bench/trend", 1};

std::string shift_words(double shift) { return fmt::format("{:+.1f} %", 100 * shift); }

std::string date_of(const TrendRun& run) { return run.at.substr(0, 10); }

// Returns the commit of a run, else the run's id.
std::string run_words(const TrendRun& run) {
  return run.commit.empty() ? "run " + run.result.substr(0, 8) : run.commit.substr(0, 10);
}

// Returns "at 1b46a9c, 2026-11-05, node1 (before: 9a8b7c6)".
std::string range_words(const std::optional<TrendRun>& previous, const TrendRun& first,
                        const TrendRun& last) {
  const std::string machine = first.machine.empty() ? "" : ", " + first.machine;
  const std::string before =
      previous ? fmt::format(" (the run before: {})", run_words(*previous)) : std::string();
  if (first == last)
    return fmt::format("at {}, {}{}{}", run_words(first), date_of(first), machine, before);
  const std::string dates =
      date_of(first) == date_of(last) ? date_of(first) : date_of(first) + " to " + date_of(last);
  return fmt::format("between {} and {}, {}{}{}", run_words(first), run_words(last), dates, machine,
                     before);
}

std::string attribute_words(const std::vector<TrendAttribute>& attributes) {
  std::string text;
  for (const TrendAttribute& one : attributes)
    text +=
        fmt::format("{}{}: {} -> {}", text.empty() ? "" : "; ", one.name, one.before, one.after);
  return text;
}

const TrendSeries& series_of(const TrendReport& report, const std::string& id) {
  return *std::find_if(report.series.begin(), report.series.end(),
                       [&](const TrendSeries& series) { return series.id == id; });
}

// Returns the change of a series that belongs to the group.
const TrendChange& change_in(const TrendSeries& series, const TrendGroup& group) {
  return *std::find_if(series.changes.begin(), series.changes.end(), [&](const TrendChange& c) {
    return c.worse == group.worse && c.status == group.status && c.first.at <= group.first.at &&
           group.last.at <= c.last.at;
  });
}

std::string group_heading(const TrendReport& report, const TrendGroup& group) {
  const bool time = report.metric == "time";
  std::string what = group.worse ? (time ? "slower" : "worse") : (time ? "faster" : "better");
  if (group.status == ChangeStatus::acknowledged) what += " (acknowledged)";
  if (group.status == ChangeStatus::undone) what += " (undone since)";
  const std::string least = shift_words(group.least), most = shift_words(group.most);
  return fmt::format("{}: {} of {} series, {}, {}", what, group.series.size(), report.series.size(),
                     least == most ? most : least + " to " + most,
                     range_words(group.previous, group.first, group.last));
}

std::string group_text(const TrendReport& report, const TrendGroup& group,
                       const TableStyle& style) {
  TableStyle prose = style;
  prose.wraps = true;
  std::string text = wrapped_prose(printable(group_heading(report, group)) + '\n', prose, 2);
  if (const std::string also = attribute_words(group.attributes); !also.empty())
    text += wrapped_prose(printable("  changed there: " + also) + '\n', prose, 4);
  std::vector<TextRow> rows;
  for (const std::string& id : group.series) {
    const TrendSeries& series = series_of(report, id);
    const TrendChange& change = change_in(series, group);
    rows.push_back({{id, to_string(change.kind), trend_value(report, change.before),
                     trend_value(report, change.after), shift_words(change.shift),
                     fmt::format("{}+{}", change.runs_before, change.runs_after), series.series}});
    if (change.status == ChangeStatus::acknowledged)
      rows.push_back({{"", "acknowledged: " + change.reason}});
  }
  std::vector<std::string> hidden;
  return text + draw_table({{"id", "", false},
                            {"kind", "", false},
                            {"before", "", true},
                            {"after", "", true},
                            {"shift", "", true},
                            {"runs", "", true},
                            {"series", "", false},
                            kRestOfLine},
                           std::move(rows), style.width, style.color, hidden);
}

std::string states_text(const TrendReport& report, const TrendSeries& series) {
  const TrendStates& states = *series.states;
  std::string text =
      fmt::format("two states: {} {}: {:.0f} % at {}, {:.0f} % at {}", series.id, series.series,
                  100 * (1 - states.high_share), trend_value(report, states.low),
                  100 * states.high_share, trend_value(report, states.high));
  if (states.attribute.empty()) return text + "; no recorded attribute goes with the state";
  return text + fmt::format("; {} \"{}\" goes with {} (p {:.0e})", states.attribute, states.value,
                            trend_value(report, states.high), states.p);
}

// Returns a table of the newest runs that are far from what is expected, and how to confirm them.
std::string suspects_table(const TrendReport& report, const TableStyle& style) {
  std::vector<TextRow> rows;
  for (const TrendSeries& series : report.series) {
    if (!series.suspect) continue;
    const TrendSuspect& suspect = *series.suspect;
    rows.push_back({{series.id, trend_value(report, suspect.value),
                     fmt::format("{} \u00b1 {}", trend_value(report, suspect.expected),
                                 trend_value(report, suspect.margin)),
                     run_words(suspect.run), std::to_string(suspect.reruns), series.series}});
  }
  if (rows.empty()) return "";
  TableStyle prose = style;
  prose.wraps = true;
  std::vector<std::string> hidden;
  return wrapped_prose(printable(fmt::format(
                           "suspect, but one run proves nothing: measure 3 times more, mgpu-bench "
                           "run .. --label rerun=yes --history {}",
                           report.history)) +
                           '\n',
                       prose, 2) +
         draw_table({{"id", "", false},
                     {"newest", "", true},
                     {"expected", "", false},
                     {"run", "", false},
                     {"reruns", "", true},
                     {"series", "", false},
                     kRestOfLine},
                    std::move(rows), style.width, style.color, hidden);
}

}  // namespace

const char* to_string(ChangeKind kind) { return kind == ChangeKind::step ? "step" : "drift"; }

const char* to_string(ChangeStatus status) {
  return status == ChangeStatus::open           ? "open"
         : status == ChangeStatus::acknowledged ? "acknowledged"
                                                : "undone";
}

bool TrendReport::alarms() const {
  return std::any_of(groups.begin(), groups.end(), [](const TrendGroup& group) {
    return group.worse && group.status == ChangeStatus::open;
  });
}

std::string trend_value(const TrendReport& report, double value) {
  return report.unit == "ns" ? format_duration(Nanos{std::llround(value)})
                             : fmt::format("{:.3g}", value);
}

std::string trend_tables(const TrendReport& report, const TableStyle& style) {
  TableStyle prose = style;
  prose.wraps = true;
  std::string text;
  for (const TrendGroup& group : report.groups)
    text += (text.empty() ? "" : "\n") + group_text(report, group, style);
  if (const std::string suspects = suspects_table(report, style); !suspects.empty())
    text += (text.empty() ? "" : "\n") + suspects;
  std::vector<std::string> notes, too_short;
  if (report.groups.empty())
    notes.push_back(
        fmt::format("no change in {} runs of {} series", report.runs, report.series.size()));
  for (const TrendSeries& series : report.series) {
    if (series.states) notes.push_back(states_text(report, series));
    if (!series.note.empty()) too_short.push_back(series.id + " (" + series.note + ")");
  }
  if (!too_short.empty()) notes.push_back("history too short: " + first_few(too_short));
  if (report.left_out > 0)
    notes.push_back(fmt::format(
        "{} not counted: excluded, disturbed (--disturbed counts them) or "
        "repetitions",
        report.left_out == 1 ? "1 run is" : fmt::format("{} runs are", report.left_out)));
  if (!text.empty() && !notes.empty()) text += '\n';
  for (const std::string& note : notes) text += wrapped_prose(printable(note) + '\n', prose, 2);
  return text;
}

template <>
inline constexpr std::initializer_list<ChangeKind> kAllOf<ChangeKind> = {ChangeKind::step,
                                                                         ChangeKind::drift};
template <>
inline constexpr std::initializer_list<ChangeStatus> kAllOf<ChangeStatus> = {
    ChangeStatus::open, ChangeStatus::acknowledged, ChangeStatus::undone};

template <>
const Description<TrendRun>& description<TrendRun>() {
  using R = TrendRun;
  static const Description<R> kRun{
      {field<&R::result>("result", "id of the result"),
       field<&R::at>("at", "its begin, RFC 3339 in UTC"),
       field_as<TextOrNull, &R::commit>("commit"), field<&R::machine>("machine")},
      "",
      "trend_run"};
  return kRun;
}

template <>
const Description<TrendPoint>& description<TrendPoint>() {
  using P = TrendPoint;
  static const Description<P> kPoint{
      {spread<&P::run>(), field<&P::value>("value"),
       field<&P::low>("low", "of the 95 % interval within the run; null: of times only"),
       field<&P::high>("high"),
       field<&P::level>("level", "median of its segment; null: it does not count"),
       field_as<TextOrNull, &P::left_out>("left_out", "why it does not count; null: it does")}};
  return kPoint;
}

template <>
const Description<TrendAttribute>& description<TrendAttribute>() {
  using A = TrendAttribute;
  static const Description<A> kAttribute{
      {field<&A::name>("name"), field<&A::before>("before"), field<&A::after>("after")},
      "",
      "trend_attribute"};
  return kAttribute;
}

template <>
const Description<TrendEnvironment>& description<TrendEnvironment>() {
  using E = TrendEnvironment;
  static const Description<E> kEnvironment{
      {field<&E::result>("result",
                         "the run that is measured in another environment than the one "
                         "before"),
       field<&E::attributes>("attributes")}};
  return kEnvironment;
}

template <>
const Description<TrendChange>& description<TrendChange>() {
  using C = TrendChange;
  static const Description<C> kChange{
      {field<&C::kind>("kind"), field<&C::worse>("worse"),
       field<&C::status>("status",
                         "undone: the newest level is no worse than the one before the change"),
       field<&C::shift>("shift", "relative, by Hodges and Lehmann"),
       field<&C::before>("before", "median"), field<&C::after>("after", "median"),
       field<&C::p>("p"), field<&C::runs_before>("runs_before"),
       field<&C::runs_after>("runs_after"),
       field<&C::previous>("previous", "the last run before the change; null: it is left out"),
       field<&C::first>("first", "the change came with one of the runs from this one"),
       field<&C::last>("last", "to this one"),
       field<&C::attributes>("attributes", "of the environment that changed there, too"),
       field_as<TextOrNull, &C::reason>("reason", "of the acknowledgement")}};
  return kChange;
}

template <>
const Description<TrendSuspect>& description<TrendSuspect>() {
  using S = TrendSuspect;
  static const Description<S> kSuspect{
      {field<&S::run>("run"), field<&S::value>("value"), field<&S::expected>("expected"),
       field<&S::margin>("margin"), field<&S::worse>("worse"),
       field<&S::reruns>("reruns", "repetitions of it that the history has")}};
  return kSuspect;
}

template <>
const Description<TrendStates>& description<TrendStates>() {
  using S = TrendStates;
  static const Description<S> kStates{
      {field<&S::low>("low", "median"), field<&S::high>("high", "median"),
       field<&S::high_share>("high_share", "share of the runs"),
       field_as<TextOrNull, &S::attribute>("attribute",
                                           "of the environment that goes with the state"),
       field_as<TextOrNull, &S::value>("value", "of that attribute at the higher level"),
       field<&S::p>("p", "Fisher's exact test, corrected for all attributes and values")}};
  return kStates;
}

template <>
const Description<TrendSeries>& description<TrendSeries>() {
  using S = TrendSeries;
  static const Description<S> kSeries{
      {field<&S::id>("id"), field<&S::series>("series"), field<&S::runs>("runs", "that count"),
       field<&S::newest>("newest", "value of the newest of them"), field<&S::changes>("changes"),
       field<&S::states>("states", "null: it has not two"),
       field<&S::suspect>("suspect", "the newest run, if it is far from what is expected"),
       field_as<TextOrNull, &S::note>("note", "why a run cannot be judged"),
       field<&S::points>("points", "all runs by time"),
       field<&S::environment>("environment", "where it changed")}};
  return kSeries;
}

template <>
const Description<TrendGroup>& description<TrendGroup>() {
  using G = TrendGroup;
  static const Description<G> kGroup{
      {field<&G::worse>("worse"), field<&G::status>("status"), field<&G::series>("series", "ids"),
       field<&G::least>("least_shift"), field<&G::most>("most_shift"),
       field<&G::previous>("previous"), field<&G::first>("first"), field<&G::last>("last"),
       field<&G::attributes>("attributes", "that changed there in all of them")}};
  return kGroup;
}

template <>
const Description<TrendReport>& description<TrendReport>() {
  using T = TrendReport;
  static const Description<T> kTrend{
      {document_id<T, kTrendId>(), field<&T::tool>("tool", "version of the program"),
       field<&T::history>("history", "the folder"), field<&T::metric>("metric"),
       field<&T::unit>("unit"), field<&T::higher_is_better>("higher_is_better"),
       field<&T::floor>("floor", "smaller relative shifts are ignored"),
       field<&T::runs>("runs", "cases of runs that count"),
       field<&T::left_out>("left_out", "those that do not"), field<&T::series>("series"),
       field<&T::groups>("groups", "changes of several series in the same runs"),
       computed<[](const T& of) { return of.alarms(); }>(
           "alarm", "there is a worsening that is neither acknowledged nor undone"),
       field<&T::warnings>("warnings", "those printed on standard error")},
      "Change points in a history. Times are nanoseconds. "
      "These are all keys of this version of the tool: another may have more."};
  return kTrend;
}

std::string trend_json(const TrendReport& report) {
  return json_text(Kind<TrendReport>::write(report));
}

std::string trend_schema() {
  return schema_document<TrendReport>(kTrendId, "mgpu-bench trend, what trend --json writes",
                                      Keys::named);
}

}  // namespace mgpu
