// `mgpu-bench run`: from options to a session. What becomes of its report is app/conclude.hpp's matter.
#include <fmt/format.h>

#include <algorithm>

#include "app/calibrations.hpp"
#include "app/commands.hpp"
#include "app/conclude.hpp"
#include "app/device_set.hpp"
#include "app/run_observer.hpp"
#include "app/run_request.hpp"
#include "app/signals.hpp"
#include "app/terminal.hpp"
#include "lib/base/error.hpp"

namespace mgpu {
namespace {

ExitCode too_few(std::size_t found, std::uint64_t required) {
  print_error(fmt::format("{} devices found, --require-devices asks for {}", found, required));
  return ExitCode::too_few_devices;
}

void tell_devices(const std::vector<Device>& devices) {
  for (const Device& device : devices)
    print_error(fmt::format("device {}: {}, {}, driver {}", device.id, device.name, device.platform, device.driver_version));
}

void tell_telemetry(const TelemetryRecord& telemetry) {
  if (telemetry.interval <= Nanos{}) print_error("telemetry: none, " + telemetry.reason);
  for (const WatchedRecord& one : telemetry.watched)
    print_error(fmt::format("telemetry of {}: {}", one.of,
                            one.source.empty()    ? "none, " + one.reason
                            : one.source == kHost ? "the host's"
                                                  : "by " + one.source));
}

// Like --cap-memory for all of them: the lesser of both holds. A device is then asked for no more, and the record says so.
void limit_memory(const std::optional<Bytes>& most, std::vector<Handicap>& handicaps) {
  if (!most) return;
  for (Handicap& handicap : handicaps) handicap.memory_cap = std::min(*most, handicap.memory_cap.value_or(*most));
}

}  // namespace

ExitCode cmd_run(const Context& context) {
  install_stop_signals();  // first: the session then sees even a signal that came while drivers were loading
  const Settings& settings = context.invocation.settings;
  RunRequest request = read_run_request(context.invocation, context.suites, host_memory());
  if (settings.is_on("dump-config")) {
    Settings asked = settings;
    const std::string suites = fmt::format("{}", fmt::join(context.invocation.arguments, ","));
    if (!suites.empty()) asked.replace("suites", suites);
    print_data(as_config(asked, run_options(context.suites)));
    return ExitCode::ok;
  }
  const TableStyle style = table_style(settings, context.environment);
  RunObserver observer(
      {request.result_file, request.quiet, request.verbose, progress_in_place(context.environment), error_width()});

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
  calibrate_for_run(context, *backend, set.devices, request.session, set.warnings, !request.memory_pool);
  request.session.handicaps = handicaps_of(request.handicaps, set.devices);
  limit_memory(request.memory_pool, request.session.handicaps);
  request.session.devices = std::move(set.devices);
  for (const std::string& warning : set.warnings) observer.warning(warning);

  Report begun;
  begun.tool = context.tool;
  begun.environment = describe_environment(context.environment);
  if (request.verbose && !request.quiet) tell_devices(request.session.devices);
  const Report report = run_session(*backend, request.session, std::move(begun), observer);
  if (request.verbose && !request.quiet) tell_telemetry(report.telemetry);
  return conclude(report, request, observer, style);
}

}  // namespace mgpu
