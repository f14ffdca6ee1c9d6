// Watches a session for the person at the terminal: progress and warnings on stderr; after every
// group its table on stdout and the result file, whose journal grows with every sample.
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
    OutputFile* result = nullptr;  // null: it is not saved
    bool force = false;            // replaces an older result though nothing was measured
    bool result_is_dated =
        false;  // nobody named that file: it is no failure when it cannot be written
    std::optional<TableStyle> tables = {};  // how they are printed; none: they are not
    bool quiet = false;
    bool verbose = false;   // a line per case, wherever it goes
    bool in_place = false;  // stderr is a terminal whose line may be rewritten
    unsigned width = 80;    // of that line
  };
  // Of a request: on the streams of this process.
  static Options options_of(const RunRequest& request, const TableStyle& tables,
                            const Environment& environment);
  explicit RunObserver(Options options) : options_(std::move(options)) {}

  void warning(std::string_view text) override;
  void remark(std::string_view text) override;
  void output_failed(std::string_view text) override;
  void progress(const Progress& progress) override;
  void recorded(const Report& so_far) override;
  bool stop_requested() override;
  void noted(const JournalEntry& entry, Nanos now) override;
  void finished(std::size_t groups) override { groups_finished_ = groups; }

  // From now on what happens is noted in it, and it is removed once the whole report is saved.
  // `rows`: that an earlier run left.
  void keep(std::unique_ptr<JournalWriter> journal, std::size_t rows);
  // What the run will do, said once its first group begins: what is wrong with its input has been
  // said by then.
  void announce(std::string outlook);
  // Saves the report and ends the progress line. A failure is printed, not thrown: what was
  // measured must still reach the screen.
  void save(const Report& report);
  void clear_line() { line_.clear(); }
  // Prints the tables of the report that were not printed yet. Throws Error(output).
  void print_tables(const Report& report);
  void finish();  // after the last save()
  // Removes the journal of a run that ends by a mistake in what it was given: it would end so
  // again.
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
  std::string outlook_;  // not said yet
  StatusLine line_;
  std::size_t rows_seen_ = 0;      // of the report, when it was last told of
  std::size_t rows_recorded_ = 0;  // of the report, at the last call
  std::size_t rows_saved_ = 0;     // that the result file has
  std::unique_ptr<JournalWriter> journal_;
  std::size_t groups_finished_ = 0, tables_printed_ = 0;
  bool journal_failed_ = false;         // since it last began again
  bool keeps_older_ = false;            // nothing was measured so far
  std::atomic<bool> stopping_ = false;  // any thread may ask for it
  bool could_not_write_ = false, could_not_write_output_ = false;
};

}  // namespace mgpu
