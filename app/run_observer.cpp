// Prints one line per finished group and its table; on a terminal, rewrites a progress line in
// between.
#include "app/run_observer.hpp"

#include <fmt/format.h>

#include <utility>

#include "app/exports.hpp"
#include "app/signals.hpp"
#include "app/terminal.hpp"
#include "app/time_estimate.hpp"
#include "lib/base/error.hpp"
#include "lib/base/quantity.hpp"
#include "lib/report/fault_words.hpp"
#include "lib/report/overview.hpp"
#include "lib/report/record_json.hpp"

namespace mgpu {
namespace {

// Returns "merkle resident equal on 2: 26.1 ms, 12 samples".
std::string case_line(const RunRecord& run) {
  const std::string who = fmt::format("{} {} {} on {}: ", run.suite, words_of(run.mode),
                                      run.strategy, devices_text(run));
  if (run.status != Status::ok)
    return who + to_string(run.status) + (run.reason ? ": " + *run.reason : "");
  return who + fmt::format("{}, {} sample{}", format_duration(run.time.median), run.samples.size(),
                           run.samples.size() == 1 ? "" : "s");
}

}  // namespace

RunObserver::Options RunObserver::options_of(const RunRequest& request, const TableStyle& tables,
                                             const Environment& environment) {
  return {.result = request.result_file ? &request.outputs.at(*request.result_file) : nullptr,
          .force = request.force,
          .result_is_dated = request.result_is_dated,
          .tables = request.json || request.outputs.take_standard_output() ||
                            request.json_lines == JsonLines::out
                        ? std::nullopt
                        : std::optional(tables),
          .quiet = request.quiet,
          .verbose = request.verbose,
          .in_place = progress_in_place(environment) && request.json_lines != JsonLines::err,
          .width = error_width(),
          .json_lines = request.json_lines};
}

void RunObserver::warning(std::string_view text) {
  line_.clear();
  print_error(fmt::format("warning: {}", text));
}

void RunObserver::remark(std::string_view text) {
  if (options_.quiet) return;
  line_.clear();
  print_error(text);
}

void RunObserver::output_failed(std::string_view text) {
  could_not_write_output_ = true;
  warning(text);
}

void RunObserver::announce(std::string time_estimate) { time_estimate_ = std::move(time_estimate); }

void RunObserver::progress(const Progress& progress) {
  if (options_.quiet) return;
  if (progress.total > 0) {
    const std::string time_estimate = std::exchange(time_estimate_, {});
    if (!time_estimate.empty()) remark(time_estimate);
  }
  if (!options_.in_place) return;
  std::string line = progress.what;
  if (progress.groups > 1) line += fmt::format(" ({} of {})", progress.group + 1, progress.groups);
  if (progress.total > 0) line += fmt::format(": {} of {} cases", progress.done, progress.total);
  if (progress.left) line += fmt::format(", {} left", about(*progress.left));
  progress_ = line;
  line_.show(line, options_.width);
}

void RunObserver::live(const LiveEvent& event) {
  if (options_.json_lines == JsonLines::none) {
    if (options_.quiet) return;
    const std::string words = words_of(event);
    if (options_.in_place)
      line_.show(progress_.empty() ? words : progress_ + "; " + words, options_.width);
    else
      print_error(
          fmt::format("{} {} {}: {}", event.suite, words_of(event.mode), event.strategy, words));
    return;
  }
  line_.clear();
  try {
    (options_.json_lines == JsonLines::out ? print_data : print_error_data)(to_json_line(event));
  } catch (const Error& error) {
    if (!could_not_write_output_) output_failed(error.what());
  }
}

void RunObserver::recorded(const Report& so_far) {
  if (stopping_) stopped_in_time();
  line_.clear();
  if (!may_wait(so_far)) save(so_far);
  rows_recorded_ = so_far.runs.size();
  if (!options_.quiet) tell_rows(so_far);
  try {
    print_tables(so_far);
  } catch (const Error&) {
    // The reader may have ended: the run continues, and the error is reported at the end.
  }
}

void RunObserver::print_tables(const Report& report) {
  if (!options_.tables) return;
  if (shows_overview(report, *options_.tables)) {
    if (tables_printed_ == 0 && !report.runs.empty())
      print_styled(overview_heading(), *options_.tables);
    if (tables_printed_ < report.runs.size())
      print_styled(overview_rows(report, tables_printed_), *options_.tables);
    tables_printed_ = report.runs.size();
    return;
  }
  const std::vector<std::string> tables = separate_run_tables(report, *options_.tables);
  for (; tables_printed_ < tables.size(); ++tables_printed_)
    print_styled((tables_printed_ > 0 ? "\n" : "") + tables[tables_printed_], *options_.tables);
}

void RunObserver::tell_rows(const Report& so_far) {
  if (so_far.runs.size() <= rows_seen_ || (is_overview(so_far) && !options_.verbose)) return;
  std::size_t ok = 0, rows = 0;
  for (std::size_t i = rows_seen_; i < so_far.runs.size(); ++i) {
    if (is_inapplicable(so_far.runs[i])) continue;
    ++rows;
    ok += so_far.runs[i].status == Status::ok;
    if (options_.verbose || !options_.in_place) print_error(case_line(so_far.runs[i]));
  }
  const RunRecord& last = so_far.runs.back();
  const bool told = options_.tables && options_.in_place && !options_.verbose && ok == rows;
  if (!told)  // else the table that follows says it
    print_error(fmt::format("{} {}: {} of {} rows ok", last.suite, words_of(last.mode), ok, rows));
  rows_seen_ = so_far.runs.size();
}

bool RunObserver::stop_requested() {
  if (stop_signal() == 0) return false;
  if (stopping_.exchange(true)) return true;
  line_.clear();
  print_error("stopping; a second signal ends at once");
  return true;
}

void RunObserver::keep(std::unique_ptr<JournalWriter> journal, std::size_t rows) {
  journal_ = std::move(journal);
  const std::string file = options_.result->name().string();
  set_last_words(
      fmt::format("interrupted; what was measured is in {0} and {0}.journal: the same command with "
                  "--resume {0} continues\n",
                  file));
  groups_finished_ = journal_->header().groups;
  rows_seen_ = rows;
}

// Appends to the journal; a run continues without it if that fails.
void RunObserver::noted(const JournalEntry& entry, Nanos now) {
  if (!journal_ || journal_failed_) return;
  try {
    journal_->append(entry, now);
  } catch (const Error& error) {
    journal_failed_ = true;
    warning(fmt::format("{}; until the next group is saved, samples would be lost with the process",
                        error.what()));
  }
}

// Removes from the journal what the result file now has.
void RunObserver::saved(const Report& report) {
  try {
    if (report.complete) {
      journal_->remove();
      journal_.reset();
    } else if (groups_finished_ > journal_->header().groups) {
      journal_->restart(groups_finished_, report.runs.size(), report.faults.size());
      journal_failed_ = false;
    }
  } catch (const Error& error) {
    warning(error.what());
  }
}

// Tells whether writing the report may wait. It is always written as a whole, so once it has many
// rows, a few new ones are left to later groups: the journal has their samples.
bool RunObserver::may_wait(const Report& report) const {
  constexpr std::size_t kPart = 16;
  return journal_ && !journal_failed_ && !report.complete && report.runs.size() > rows_recorded_ &&
         report.runs.size() - rows_saved_ <= rows_saved_ / kPart;
}

void RunObserver::save(const Report& report) {
  if (options_.result == nullptr) return;
  try {
    // `last` should never mean an empty result.
    if (options_.result_is_dated && report.runs.empty() && !report.complete) {
      if (journal_) journal_->remove();
      journal_.reset();
      options_.result = nullptr;
      return;
    }
    keeps_older_ = keeps_older(*options_.result, report, options_.force);
    if (!keeps_older_) options_.result->put(to_json_text(report));
    could_not_write_ = false;
    rows_saved_ = report.runs.size();
    if (journal_ && (report.complete || !keeps_older_)) saved(report);
  } catch (const Error& error) {
    if (!could_not_write_ || !options_.result_is_dated) warning(error.what());
    could_not_write_ = true;
  }
}

void RunObserver::drop_journal() {
  if (journal_) journal_->remove();
  journal_.reset();
}

void RunObserver::finish() {
  if (options_.result == nullptr) return;
  if (keeps_older_) tell_kept(*options_.result);
  try {
    options_.result->finish();
  } catch (const Error& error) {
    warning(error.what());
    could_not_write_ = true;
  }
}

}  // namespace mgpu
