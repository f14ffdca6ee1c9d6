// The interface by which a session reports progress, results and warnings, and asks whether it is
// to stop.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "lib/report/journal.hpp"
#include "lib/report/record.hpp"

namespace mgpu {

// Where a session is: in the cases of one problem and mode.
struct Progress {
  std::string what;                   // "merkle resident"
  std::size_t done = 0, total = 0;    // its cases
  std::size_t group = 0, groups = 1;  // its index, from 0, and how many there are
  std::optional<Nanos> left = {};     // of the whole session, roughly; none: not known yet
};

// Notified of what happens, on the session's thread.
class SessionObserver {
 public:
  virtual ~SessionObserver() = default;
  virtual void warning(std::string_view text) = 0;
  virtual void remark(std::string_view) {}  // nothing is wrong
  virtual void output_failed(std::string_view text) {
    warning(text);
  }  // SessionOptions::result_file was not written, and will not be
  virtual void progress(const Progress& progress) = 0;  // often: throttle when printing
  virtual void recorded(
      const Report& so_far) = 0;      // after the cases of one problem and mode: save it
  virtual bool stop_requested() = 0;  // asked between samples, and now and then in them: Ctrl-C
  virtual void noted(const JournalEntry&, Nanos) {
  }  // between samples, at this time: for the journal
  virtual void finished(std::size_t) {
  }  // so many groups: the next report recorded has all of their rows
};

}  // namespace mgpu
