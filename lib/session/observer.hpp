// The interface by which a session reports progress, results and warnings, and asks whether it is
// to stop.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "lib/report/journal.hpp"
#include "lib/report/live_event.hpp"
#include "lib/report/record.hpp"

namespace mgpu {

// Progress of a session within the cases of one problem and mode, or before them.
struct Progress {
  std::string what;                   // "merkle resident"; before cases: "merkle: choosing a size"
  std::size_t done = 0, total = 0;    // cases of the group; 0: before them
  std::size_t group = 0, groups = 1;  // index of the group, and number of groups
  std::optional<Nanos> left = {};     // estimate for the whole session; none: not known yet
};

// Interface notified of events, on the session's thread.
class SessionObserver {
 public:
  virtual ~SessionObserver() = default;
  virtual void warning(std::string_view text) = 0;
  virtual void remark(std::string_view) {}  // message when nothing is wrong
  // SessionOptions::result_file could not be written; this is not retried.
  virtual void output_failed(std::string_view text) { warning(text); }
  virtual void progress(const Progress& progress) = 0;  // called often: throttle when printing
  // Called after the cases of one problem and mode, to save the report.
  virtual void recorded(const Report& so_far) = 0;
  virtual bool stop_requested() = 0;  // called between samples, and repeatedly during them (Ctrl-C)
  // Called during samples, if SessionOptions::live_every asks for it.
  virtual void live(const LiveEvent&) {}
  // Called between samples, at this time, for the journal.
  virtual void noted(const JournalEntry&, Nanos) {}
  // Called if there are other devices than before, which only another process can use: the session
  // ends between two groups, incomplete.
  virtual void found_devices() {}
  // Called with the number of finished groups when one ends: the next report recorded has all of
  // their rows.
  virtual void finished(std::size_t) {}
};

}  // namespace mgpu
