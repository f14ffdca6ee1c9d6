// `mgpu-bench run`: from options to a session, and from its report to files, tables and an exit code.
#include <fmt/format.h>
#include <signal.h>

#include "app/commands.hpp"
#include "app/device_set.hpp"
#include "app/run_observer.hpp"
#include "app/run_request.hpp"
#include "app/signals.hpp"
#include "app/terminal.hpp"
#include "lib/base/error.hpp"
#include "lib/report/record_json.hpp"
#include "lib/report/trace_writer.hpp"

namespace mgpu {
namespace {

ExitCode too_few(std::size_t found, std::uint64_t required) {
  print_error(fmt::format("{} devices found, --require-devices asks for {}", found, required));
  return ExitCode::too_few_devices;
}

// Files, tables, closing words. Returns ok, or internal when a file could not be written.
ExitCode deliver(const Report& report, const RunRequest& request, RunObserver& observer, const TableStyle& style) {
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
  if (request.json) {
    print(to_json_text(report));
  } else {
    print(run_tables(report, style));
    print(closing_words(report));
  }
  if (written && !request.quiet) {
    if (request.result_file) print_error(fmt::format("measurements: {0} (mgpu-bench report {0})", request.result_file->string()));
    if (request.trace_file)
      print_error(fmt::format("timeline: {} (open it in https://ui.perfetto.dev)", request.trace_file->string()));
  }
  return written ? ExitCode::ok : ExitCode::internal;
}

}  // namespace

ExitCode cmd_run(const Context& context) {
  install_stop_signals();  // first: the session then sees even a signal that came while drivers were loading
  const Settings& settings = context.invocation.settings;
  RunRequest request = read_run_request(settings, context.invocation.arguments, context.suites, host_memory());
  const TableStyle style = table_style(settings, context.environment);
  RunObserver observer({request.result_file, request.quiet, progress_in_place(context.environment)});

  const std::unique_ptr<Backend> backend = context.make_backend();
  DeviceSet set;
  try {
    set = choose_devices(*backend, settings, context.environment);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::no_device || request.require_devices == 0) throw;
    return too_few(0, request.require_devices);
  }
  if (set.devices.size() < request.require_devices) return too_few(set.devices.size(), request.require_devices);
  request.session.device_counts = device_counts(request, set.devices.size(), set.warnings);
  request.session.handicaps = handicaps_of(request.handicaps, set.devices);
  request.session.devices = std::move(set.devices);
  for (const std::string& warning : set.warnings) observer.warning(warning);

  Report begun;
  begun.tool = context.tool;
  begun.environment = describe_environment(context.environment);
  const Report report = run_session(*backend, request.session, std::move(begun), observer);

  std::vector<ExitCode> codes{deliver(report, request, observer, style), outcome(report, request.strict)};
  if (!report.complete && stop_signal() != 0) {
    codes.push_back(stop_signal() == SIGTERM ? ExitCode::terminated : ExitCode::interrupted);
  }
  return worst(codes);
}

}  // namespace mgpu
