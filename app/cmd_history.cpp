// `mgpu-bench history`: adds results to a history, lists it, and marks runs and changes in it.
#include <fmt/format.h>

#include <cmath>

#include "app/commands.hpp"
#include "app/history_store.hpp"
#include "app/problems.hpp"
#include "app/terminal.hpp"
#include "lib/base/error.hpp"
#include "lib/base/output_file.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/quote.hpp"
#include "lib/exec/wall_clock.hpp"
#include "lib/history/history.hpp"
#include "lib/report/record_json.hpp"
#include "lib/report/text_table.hpp"

namespace mgpu {
namespace {

std::string in_time(double ns) { return format_duration(Nanos{std::llround(ns)}); }

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

ResultHistory read_with_warnings(const std::string& folder) {
  ResultHistory history = read_history(folder);
  for (const std::string& warning : history.warnings) print_error("warning: " + warning);
  return history;
}

ExitCode add(const Context& context, const std::string& folder,
             std::span<const std::string> files) {
  if (files.empty())
    throw Error(ErrorKind::usage,
                "history add needs a result; expected: files that run saved, or last, last~1");
  KnownCases known = known_cases(folder);
  for (const std::string& file : files) {
    Report report = read_report(file);
    complete_defaults(report, context.suites);
    warn_of_interruption(file, report);
    try {
      add_to_history(folder, report, file, false, known);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input || std::string_view(error.what()).starts_with(folder))
        throw;
      throw Error(ErrorKind::input, file + ": " + error.what());
    }
  }
  return ExitCode::ok;
}

std::string flags_text(const ResultHistory& history, const HistorySeries& series,
                       const HistoryRun& run) {
  std::string text;
  const auto say = [&](const std::string& what) { text += (text.empty() ? "" : "; ") + what; };
  if (run.disturbed) say("disturbed");
  if (run.rerun) say("repetition");
  if (run.excluded != nullptr) say("excluded: " + std::string(run.excluded->reason));
  if (const HistoryMark* mark = history.acknowledgement(series.key, run.result))
    say("acknowledged: " + std::string(mark->reason));
  return text;
}

ExitCode list(const std::string& folder, const TableStyle& style) {
  const ResultHistory history = read_with_warnings(folder);
  std::vector<TextRow> rows;
  for (const HistorySeries& series : history.series) {
    const HistoryRun& last = series.runs.back();
    rows.push_back({{series.id(), std::to_string(series.runs.size()), in_time(last.time),
                     std::string(last.commit.substr(0, 10)), std::string(last.at.substr(0, 10)),
                     std::string(series.key)}});
  }
  std::vector<std::string> hidden;
  std::string text = draw_table({{"id", "", false},
                                 {"runs", "", true},
                                 {"last", "", true},
                                 {"commit", "", false},
                                 {"date", "", false},
                                 {"series", "", false},
                                 kRestOfLine},
                                std::move(rows), style.width, style.color, hidden);
  text +=
      fmt::format("{}: {} in {}, {}{}\n", printable(folder), counted(history.lines, "line"),
                  counted(history.files, "file"), format_bytes(static_cast<double>(history.bytes)),
                  history.repeated > 0 ? fmt::format(", {} twice", history.repeated) : "");
  print_styled(text, style);
  return ExitCode::ok;
}

ExitCode show(const std::string& folder, const std::string& name, const TableStyle& style) {
  const ResultHistory history = read_with_warnings(folder);
  const HistorySeries& series = find_series(history, "history show", name);
  std::vector<TextRow> rows;
  for (const HistoryRun& run : series.runs)
    rows.push_back(
        {{std::string(run.result.substr(0, 8)), std::string(run.at.substr(0, 16)),
          std::string(run.commit.substr(0, 10)), in_time(run.time),
          fmt::format("{} .. {}", in_time(run.low), in_time(run.high)), std::to_string(run.n),
          std::string(run.machine), flags_text(history, series, run)}});
  std::vector<std::string> hidden;
  std::string text = draw_table({{"run", "", false},
                                 {"date", "", false},
                                 {"commit", "", false},
                                 {"median", "", true},
                                 {"95 % interval", "", true, 30},
                                 {"n", "", true, 20},
                                 {"machine", "", false, 40},
                                 {"notes", "", false},
                                 kRestOfLine},
                                std::move(rows), style.width, style.color, hidden);
  print_styled(printable(series.id() + " " + std::string(series.key)) + '\n' + text +
                   hidden_line(hidden, "a wider terminal", style.width),
               style);
  return ExitCode::ok;
}

// Appends a mark on a run, in one series or in all.
ExitCode mark(const Context& context, const std::string& action, const std::string& folder,
              std::span<const std::string> names) {
  const Given* reason = context.invocation.settings.find("reason");
  if (reason == nullptr || reason->value.find_first_not_of(" \t") == std::string::npos)
    throw Error(ErrorKind::usage,
                fmt::format("history {} needs --reason TEXT: why, and who says so", action));
  if (names.empty() || names.size() > 2)
    throw Error(ErrorKind::usage,
                fmt::format("history {} needs a run, and at most one series; expected: history {} "
                            "DIR RUN [SERIES] --reason TEXT",
                            action, action));
  const ResultHistory history = read_with_warnings(folder);
  const std::string from = "history " + action;
  const std::vector<std::string> results = find_results(history, from, names.front());
  const std::string_view series =
      names.size() > 1 ? find_series(history, from, names[1]).key : std::string_view();
  const std::string now = utc_now();
  const std::string who = context.environment.get("USER").value_or("");
  std::vector<std::string> lines;
  for (const std::string& result : results)
    lines.push_back(mark_line(action, {result, series, reason->value, who, now}));
  append_lines(std::filesystem::path(folder) / fmt::format("marks-{}.jsonl", now.substr(0, 7)),
               lines);
  print_error(fmt::format("{} {}", counted(lines.size(), "run"),
                          action == "ack" ? "acknowledged" : "excluded"));
  return ExitCode::ok;
}

}  // namespace

ExitCode cmd_history(const Context& context) {
  static const std::vector<std::string> actions{"add", "list", "show", "exclude", "ack"};
  const std::vector<std::string>& words = context.invocation.arguments;
  const std::string& action = words.at(0);
  read_word({action, "history"}, actions);
  const std::string& folder = words.at(1);
  const auto names = std::span(words).subspan(2);
  const TableStyle style = table_style(context.invocation.settings, context.environment);
  if (action == "add") return add(context, folder, names);
  if (action == "exclude" || action == "ack") return mark(context, action, folder, names);
  if (names.size() != (action == "show" ? 1 : 0))
    throw Error(ErrorKind::usage, action == "show"
                                      ? "history show needs one series; expected: an id of "
                                        "mgpu-bench history list " +
                                            folder
                                      : "history list needs nothing but the folder");
  return action == "show" ? show(folder, names.front(), style) : list(folder, style);
}

}  // namespace mgpu
