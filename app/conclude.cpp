// Files first: what was measured must be safe before anything is printed.
#include "app/conclude.hpp"

#include <fmt/format.h>
#include <signal.h>

#include "app/signals.hpp"
#include "app/terminal.hpp"
#include "lib/base/error.hpp"
#include "lib/report/record_json.hpp"
#include "lib/report/trace_writer.hpp"

namespace mgpu {
namespace {

// Files, tables, closing words. Returns ok, or internal when a file could not be written.
ExitCode deliver(const Report& report, const RunRequest& request, const std::vector<Miss>& missed, RunObserver& observer,
                 const TableStyle& style) {
  observer.clear_line();
  observer.save(report);
  bool written = !observer.could_not_write();
  if (request.trace_file) {
    try {
      write_file_atomically(*request.trace_file, to_chrome_trace(report));
    } catch (const Error& error) {
      written = false;
      print_error(error.what());
    }
  }
  written &= write_exports(report, request.exports, missed);
  if (request.json) {
    print_json(to_json_text(report));
  } else {
    print(run_tables(report, style));
    print("\n" + wrapped_prose(closing_words(report), style, 2));
  }
  if (written && !request.quiet) {
    if (request.result_file) print_error(fmt::format("measurements: {0} (mgpu-bench report {0})", request.result_file->string()));
    if (request.trace_file)
      print_error(fmt::format("timeline: {} (open it in https://ui.perfetto.dev)", request.trace_file->string()));
  }
  return written ? ExitCode::ok : ExitCode::internal;
}

}  // namespace

ExitCode conclude(const Report& report, const RunRequest& request, RunObserver& observer, const TableStyle& style) {
  const std::vector<Miss> missed = misses(report, request.requirements);
  std::vector<ExitCode> codes{deliver(report, request, missed, observer, style), outcome(report, request.strict)};
  if (!tell_misses(missed)) codes.push_back(ExitCode::regression);
  if (!report.complete && stop_signal() != 0) {
    codes.push_back(stop_signal() == SIGTERM ? ExitCode::terminated : ExitCode::interrupted);
  }
  return worst(codes);
}

}  // namespace mgpu
