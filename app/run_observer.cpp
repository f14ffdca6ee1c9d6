// One line per finished group, and on a terminal one that is rewritten in between. Tables are printed at the end, by cmd_run.
#include "app/run_observer.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "app/signals.hpp"
#include "app/terminal.hpp"
#include "lib/base/error.hpp"
#include "lib/report/record_json.hpp"

namespace mgpu {

void RunObserver::clear_line() {
  if (line_.empty()) return;
  std::fputs("\r\033[K", stderr);
  line_.clear();
}

void RunObserver::warning(std::string_view text) {
  clear_line();
  print_error(fmt::format("warning: {}", text));
}

void RunObserver::progress(std::string_view what, std::size_t done, std::size_t total) {
  if (options_.quiet || !options_.in_place) return;
  std::string line = fmt::format("[{}/{}] {}", done, total, what);
  if (line == line_) return;
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
  line_ = std::move(line);
}

void RunObserver::recorded(const Report& so_far) {
  clear_line();
  save(so_far);
  if (options_.quiet || so_far.runs.size() <= rows_seen_) return;
  std::size_t ok = 0;
  for (std::size_t i = rows_seen_; i < so_far.runs.size(); ++i) ok += so_far.runs[i].status == Status::ok;
  const RunRecord& last = so_far.runs.back();
  print_error(fmt::format("{} {}: {} of {} cases ok", last.suite, to_string(last.mode), ok, so_far.runs.size() - rows_seen_));
  rows_seen_ = so_far.runs.size();
}

bool RunObserver::stop_requested() {
  if (stop_signal() == 0) return false;
  if (!stopping_) {
    clear_line();
    print_error("stopping after this sample; once more ends at once");
  }
  stopping_ = true;
  return true;
}

void RunObserver::save(const Report& report) {
  if (!options_.result_file) return;
  try {
    write_file_atomically(*options_.result_file, to_json_text(report));
    could_not_write_ = false;
  } catch (const Error& error) {
    could_not_write_ = true;
    warning(error.what());
  }
}

}  // namespace mgpu
