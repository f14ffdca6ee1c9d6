// Watches a session for the person at the terminal: progress and warnings on stderr, the result file after every group, its journal
// after every sample.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "lib/session/observer.hpp"

namespace mgpu {

class RunObserver : public SessionObserver {
 public:
  struct Options {
    std::optional<std::filesystem::path> result_file;
    bool quiet = false;
    bool verbose = false;   // a line per case, wherever it goes
    bool in_place = false;  // stderr is a terminal whose line may be rewritten
    unsigned width = 80;    // of that line
  };
  explicit RunObserver(Options options) : options_(std::move(options)) {}

  void warning(std::string_view text) override;
  void output_failed(std::string_view text) override;
  void progress(const Progress& progress) override;
  void recorded(const Report& so_far) override;
  bool stop_requested() override;
  void noted(const JournalEntry& entry, Nanos now) override;
  void finished(std::size_t groups) override { groups_finished_ = groups; }

  // From now on what happens is noted in it, and it is removed once the whole report is saved. `rows`: that an earlier run left.
  void keep(std::unique_ptr<JournalWriter> journal, std::size_t rows);
  // Saves the report and ends the progress line. A failure is printed, not thrown: what was measured must still reach the screen.
  void save(const Report& report);
  void clear_line();
  bool could_not_write() const { return could_not_write_ || could_not_write_output_; }

 private:
  void saved(const Report& report);

  Options options_;
  std::string line_;           // what the progress line shows
  std::size_t rows_seen_ = 0;  // of the report, at the last call
  std::unique_ptr<JournalWriter> journal_;
  std::size_t groups_finished_ = 0;
  bool journal_failed_ = false;  // since it was last begun anew
  bool stopping_ = false, could_not_write_ = false, could_not_write_output_ = false;
};

}  // namespace mgpu
