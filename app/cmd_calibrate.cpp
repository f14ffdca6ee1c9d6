// `mgpu-bench calibrate`: measures what is not kept yet, keeps it, and prints all of it.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/calibrations.hpp"
#include "app/commands.hpp"
#include "app/device_set.hpp"
#include "app/terminal.hpp"
#include "lib/base/quantity.hpp"
#include "lib/report/capability_json.hpp"
#include "lib/report/table_writer.hpp"

namespace mgpu {
namespace {

using Json = nlohmann::ordered_json;

const char* word(CalibrationOrigin origin) {
  return origin == CalibrationOrigin::kept ? "kept" : origin == CalibrationOrigin::measured ? "measured" : "failed";
}

std::string as_text(std::span<const Device> devices, const CalibrationResult& result, const TableStyle& style) {
  std::vector<CalibrationRow> rows;
  for (std::size_t i = 0; i < devices.size(); ++i)
    rows.push_back({devices[i], result.calibration.devices[i], result.free_memory[i], word(result.origins[i])});
  std::string text = calibration_table(rows, style);
  const auto& link = result.calibration.link;
  if (link && devices.size() > 1) {
    text += fmt::format("all {} at once: {}B/s up, {}B/s down ({})\n", devices.size(), format_si(link->up), format_si(link->down),
                        word(result.link_origin));
  }
  return text;
}

std::string as_json(std::span<const Device> devices, const CalibrationResult& result) {
  Json list = Json::array();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const Device& device = devices[i];
    list.push_back({{"rank", i},
                    {"id", device.id},
                    {"name", device.name},
                    {"uuid", device.uuid ? Json(*device.uuid) : Json(nullptr)},
                    {"pci", device.pci ? Json(*device.pci) : Json(nullptr)},
                    {"driver_version", device.driver_version},
                    {"free_memory_bytes", result.free_memory[i] ? Json(*result.free_memory[i]) : Json(nullptr)},
                    {"from", word(result.origins[i])},
                    {"capability", capability_json(result.calibration.devices[i])}});
  }
  Json link = nullptr;
  if (result.calibration.link) {
    link = {{"devices", result.calibration.link->devices},
            {"up_bytes_per_s", result.calibration.link->up},
            {"down_bytes_per_s", result.calibration.link->down},
            {"from", word(result.link_origin)}};
  }
  const Json json{{"devices", list}, {"link", link}, {"warnings", result.warnings}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

ExitCode cmd_calibrate(const Context& context) {
  const Settings& settings = context.invocation.settings;
  const TableStyle style = table_style(settings, context.environment);
  const bool json = settings.is_on("json"), afresh = settings.is_on("recalibrate");
  const CalibrationStore store = calibration_store(context);
  const std::unique_ptr<Backend> backend = context.make_backend();
  const DeviceSet set = choose_devices(*backend, settings, context.environment);
  CalibrationResult result = calibrate(*backend, set.devices, store, afresh);
  result.warnings.insert(result.warnings.begin(), set.warnings.begin(), set.warnings.end());
  for (const std::string& warning : result.warnings) print_error("warning: " + warning);
  print(json ? as_json(set.devices, result) : as_text(set.devices, result, style));
  return result.failed > 0 ? ExitCode::failed : ExitCode::ok;
}

}  // namespace mgpu
