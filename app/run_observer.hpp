// Shows a session to the user: progress and warnings on stderr. After every group, prints its table
// on stdout and writes the result file; its journal grows with every sample.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "app/run_request.hpp"
#include "app/terminal.hpp"
#include "lib/report/table_writer.hpp"
#include "lib/session/observer.hpp"

namespace mgpu {

class RunObserver : public SessionObserver {
 public:
  struct Options {
    OutputFile* result = nullptr;  // null: the result is not saved
    bool force = false;            // replaces an older result even if nothing was measured
    // The file was chosen by the program: failing to write it is no failure of the run.
    bool result_is_dated = false;
    std::optional<TableStyle> tables = {};  // style of the printed tables; none: no tables
    bool quiet = false;
    bool verbose = false;   // prints a line per case, even on a terminal
    bool in_place = false;  // stderr is a terminal whose line may be rewritten
    unsigned width = 80;    // of the progress line
    JsonLines json_lines = JsonLines::none;
  };
  // Returns the options of a request that prints to this process's standard streams.
  static Options options_of(const RunRequest& request, const TableStyle& tables,
                            const Environment& environment);
  explicit RunObserver(Options options) : options_(std::move(options)) {}

  void warning(std::string_view text) override;
  void remark(std::string_view text) override;
  void output_failed(std::string_view text) override;
  void progress(const Progress& progress) override;
  void live(const LiveEvent& event) override;
  void recorded(const Report& so_far) override;
  bool stop_requested() override;
  void noted(const JournalEntry& entry, Nanos now) override;
  void finished(std::size_t groups) override { groups_finished_ = groups; }
  void found_devices() override { found_devices_ = true; }
  bool has_found_devices() const { return found_devices_; }

  // Records all samples in the journal from now on, and removes it once the whole report is saved.
  // `rows`: number of rows that an earlier run left.
  void keep(std::unique_ptr<JournalWriter> journal, std::size_t rows);
  // Sets the estimate that is printed when the first group begins, after all messages about the
  // input.
  void announce(std::string time_estimate);
  // Saves the report. A failure is printed, not thrown: what was measured must still reach the
  // screen.
  void save(const Report& report);
  void clear_line() { line_.clear(); }
  // Prints the tables of the report that were not printed yet. Throws Error(output).
  void print_tables(const Report& report);
  void finish();  // called after the last save()
  // Removes the journal of a run that ends by a mistake in its input: resuming would end the same
  // way.
  void drop_journal();
  bool result_is_kept() const { return options_.result && !could_not_write_ && !keeps_older_; }
  bool could_not_write() const {
    return (could_not_write_ && !options_.result_is_dated) || could_not_write_output_;
  }

 private:
  bool may_wait(const Report& report) const;
  void saved(const Report& report);
  void tell_rows(const Report& so_far);

  Options options_;
  std::string time_estimate_;  // not printed yet
  StatusLine line_;
  std::string progress_;           // the progress line without live metrics
  std::size_t rows_seen_ = 0;      // rows already reported on stderr
  std::size_t rows_recorded_ = 0;  // rows of the report at the last call of recorded()
  std::size_t rows_saved_ = 0;     // rows in the result file
  std::unique_ptr<JournalWriter> journal_;
  std::size_t groups_finished_ = 0, tables_printed_ = 0;
  bool journal_failed_ = false;         // since the journal was last restarted
  bool keeps_older_ = false;            // nothing was measured so far
  std::atomic<bool> stopping_ = false;  // set by any thread
  bool found_devices_ = false;
  bool could_not_write_ = false, could_not_write_output_ = false;
};

}  // namespace mgpu
