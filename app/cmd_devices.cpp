// `mgpu-bench devices`: the devices, with what they report and what is cached about them. Measures
// nothing.
#include "app/calibrations.hpp"
#include "app/commands.hpp"
#include "app/device_set.hpp"
#include "app/device_status.hpp"
#include "app/terminal.hpp"
#include "lib/measure/device_status.hpp"
#include "lib/report/documents.hpp"
#include "lib/session/calibrate.hpp"

namespace mgpu {
ExitCode cmd_devices(const Context& context) {
  const Settings& settings = context.invocation.settings;
  const TableStyle style = table_style(settings, context.environment);
  const std::unique_ptr<Backend> backend = context.make_backend();
  const bool chosen = settings.has("devices") || settings.has("sub-devices");
  const DeviceSet set =
      chosen ? choose_devices(*backend, context) : every_device(*backend, context.environment);
  if (settings.is_on("status") || settings.has("watch")) {
    for (const std::string& warning : set.warnings) print_error("warning: " + warning);
    return print_status(context, *backend, set.devices, style);
  }
  const CalibrationResult cached = cached_calibration(set.devices, calibration_store(context));
  std::vector<std::string> warnings = set.warnings;
  warnings.insert(warnings.end(), cached.warnings.begin(), cached.warnings.end());
  for (const std::string& warning : warnings) print_error("warning: " + warning);
  if (!settings.is_on("json")) {
    print_styled(device_table(set.devices, style, cached.calibration.devices), style);
    return ExitCode::ok;
  }
  std::vector<ListedDevice> devices = listed(set.devices, cached.calibration.devices);
  const std::vector<DeviceStatus> status =
      StatusReader(set.devices, TelemetryPlaces{}).read(Nanos{});
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].device.is_cpu()) continue;  // its load takes two readings
    devices[i].utilisation = status[i].utilisation;
    devices[i].memory_used = status[i].used;
  }
  print_json(devices_json({devices, warnings}));
  return ExitCode::ok;
}

}  // namespace mgpu
