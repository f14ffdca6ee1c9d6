// `mgpu-bench devices`: the devices and what is known of them without measuring anything: what they
// say, and what is cached from earlier.
#include "app/calibrations.hpp"
#include "app/commands.hpp"
#include "app/device_set.hpp"
#include "app/terminal.hpp"
#include "lib/report/capability_json.hpp"
#include "lib/report/json_build.hpp"
#include "lib/report/json_text.hpp"
#include "lib/session/calibrate.hpp"

namespace mgpu {
namespace {

JsonValue device_json(const Device& device, std::size_t rank,
                      const std::optional<Capability>& capability) {
  return json_object({{"rank", rank},
                      {"id", device.id},
                      {"name", device.name},
                      {"vendor", device.vendor},
                      {"type", to_string(device.type)},
                      {"score", device.score},
                      {"platform", device.platform},
                      {"platform_vendor", device.platform_vendor},
                      {"platform_version", device.platform_version},
                      {"driver_version", device.driver_version},
                      {"device_version", device.device_version},
                      {"global_memory_bytes", device.global_memory},
                      {"max_allocation_bytes", device.max_allocation},
                      {"local_memory_bytes", device.local_memory},
                      {"compute_units", device.compute_units},
                      {"clock_mhz", device.clock_mhz},
                      {"native_float_width", device.native_float_width},
                      {"max_work_group", device.max_work_group},
                      {"compute_capability", device.compute_capability},
                      {"host_unified_memory", device.host_unified_memory},
                      {"fp64", device.fp64},
                      {"virtualised", device.virtualised},
                      {"pci", device.pci},
                      {"uuid", device.uuid},
                      {"extensions", device.extensions},
                      {"capability", capability_json(capability)}});
}

}  // namespace

ExitCode cmd_devices(const Context& context) {
  const Settings& settings = context.invocation.settings;
  const TableStyle style = table_style(settings, context.environment);
  const std::unique_ptr<Backend> backend = context.make_backend();
  const bool chosen = settings.has("devices") || settings.has("sub-devices");
  const DeviceSet set =
      chosen ? choose_devices(*backend, context) : every_device(*backend, context.environment);
  const CalibrationResult cached = cached_calibration(set.devices, calibration_store(context));
  std::vector<std::string> warnings = set.warnings;
  warnings.insert(warnings.end(), cached.warnings.begin(), cached.warnings.end());
  for (const std::string& warning : warnings) print_error("warning: " + warning);
  if (!settings.is_on("json")) {
    print_styled(device_table(set.devices, style, cached.calibration.devices), style);
    return ExitCode::ok;
  }
  JsonValue list = json_list();
  for (std::size_t rank = 0; rank < set.devices.size(); ++rank)
    append(list, device_json(set.devices[rank], rank, cached.calibration.devices[rank]));
  print_json(indented_json(json_object({{"schema", "mgpu-bench/devices"},
                                        {"schema_version", 1},
                                        {"devices", std::move(list)},
                                        {"warnings", warnings}})));
  return ExitCode::ok;
}

}  // namespace mgpu
