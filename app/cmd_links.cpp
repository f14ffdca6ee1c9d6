// `mgpu-bench links`: measures transfers between host and devices, and collectives.
#include <fmt/format.h>

#include "app/commands.hpp"
#include "app/device_set.hpp"
#include "app/environment.hpp"
#include "app/links_request.hpp"
#include "app/signals.hpp"
#include "app/terminal.hpp"
#include "lib/base/error.hpp"
#include "lib/exec/driver_call.hpp"
#include "lib/exec/wall_clock.hpp"
#include "lib/report/links_json.hpp"
#include "lib/report/links_tables.hpp"

namespace mgpu {
namespace {

// Writes files first: what was measured must be safe before anything is printed.
ExitCode deliver(const LinksReport& report, const LinksRequest& request, const TableStyle& style) {
  bool written = true;
  const std::string json =
      request.json || request.result_file ? links_json_text(report) : std::string();
  try {
    if (request.result_file) request.outputs.at(*request.result_file).write(json);
  } catch (const Error& error) {
    print_error(std::string("error: ") + error.what());
    written = false;
  }
  if (!request.exports.empty())
    written =
        write_exports(as_cases(report), request.exports, {}, request.outputs, true) && written;
  if (request.json) {
    print_json(json);
  } else if (!request.outputs.take_standard_output()) {
    print_styled(links_tables(report, style), style);
  }
  if (const std::uint64_t wrong = wrong_in(report); wrong > 0)
    print_error(fmt::format(
        "error: {} elements did not arrive as they should: what they belong to has no rate",
        wrong));
  return written ? ExitCode::ok : ExitCode::internal;
}

// Saves a fault that came before the first figure, unless that would replace an older result.
ExitCode save_failure(const LinksReport& report, const LinksRequest& request) {
  OutputFile& file = request.outputs.at(*request.result_file);
  if (file.had_content()) {
    print_error("warning: " + file.name().string() +
                " keeps its older result: nothing was measured");
    return ExitCode::ok;
  }
  try {
    file.write(links_json_text(report));
  } catch (const Error& error) {
    print_error(std::string("error: ") + error.what());
    return ExitCode::internal;
  }
  return ExitCode::ok;
}

// Drops collectives if there is one device: only transfers to and from the host remain.
void leave_out_exchange(const Settings& settings, LinksRequest& request,
                        std::vector<std::string>& warnings) {
  if (request.options.devices.size() > 1 || settings.has("op")) return;
  request.options.ops.clear();
  const Device& device = request.options.devices.front();
  warnings.push_back(fmt::format(
      "there is one device, {}, so that only the host exchanges data with it{}", device.id,
      device.is_cpu() && device.compute_units > 1 ? "; --sub-devices 2 makes two of this CPU"
                                                  : ""));
}

ExitCode ended_by(const Error& error, const LinksReport& report) {
  if (stop_signal() != 0) return stop_code();
  print_error(fmt::format("error: {}{}", error.what(),
                          report.transfers.empty() ? "" : "; what was measured before is kept"));
  return exit_code(error.kind());
}

}  // namespace

ExitCode cmd_links(const Context& context) {
  const Settings& settings = context.invocation.settings;
  LinksRequest request = read_links_request(settings);
  const TableStyle style = table_style(settings, context.environment);
  const std::unique_ptr<Backend> backend = context.make_backend();
  DeviceSet set = choose_devices(*backend, context);
  request.options.device_counts = device_counts(request.counts, set.devices.size(), set.warnings);
  request.options.devices = std::move(set.devices);
  leave_out_exchange(settings, request, set.warnings);

  LinksReport report;
  report.tool = context.tool;
  report.environment = describe_environment(context.environment);
  report.options = request.recorded;
  report.started = utc_now();
  report.warnings = std::move(set.warnings);
  const auto progress = [&](const std::string& what) {
    if (!request.quiet) print_error("measuring " + what);
  };
  std::vector<ExitCode> codes;
  try {
    attend(*backend, nullptr, [&] { measure_links(*backend, request.options, report, progress); });
  } catch (const Error& error) {
    report.failure = error.what();
    codes.push_back(ended_by(error, report));
  }
  stopped_in_time();
  for (const std::string& warning : report.warnings) print_error("warning: " + warning);
  if (report.failure && report.transfers.empty() && report.collectives.empty()) {
    if (request.result_file) codes.push_back(save_failure(report, request));
    return worst(codes);
  }
  codes.push_back(deliver(report, request, style));
  if (wrong_in(report) > 0) codes.push_back(ExitCode::unverified);
  return worst(codes);
}

}  // namespace mgpu
