#include "lib/report/device_status_report.hpp"

#include <fmt/format.h>

#include "lib/base/quantity.hpp"
#include "lib/report/json_build.hpp"
#include "lib/report/record_fields.hpp"
#include "lib/report/text_table.hpp"

namespace mgpu {

namespace {

constexpr DocumentId kStatusId{"mgpu-bench/status", 1};

struct StatusDocument {
  std::vector<DeviceStatus> devices;
};

JsonValue status_value(std::span<const DeviceStatus> devices) {
  return Kind<StatusDocument>::write({{devices.begin(), devices.end()}});
}

}  // namespace

template <>
const Description<DeviceStatus>& description<DeviceStatus>() {
  using D = DeviceStatus;
  static const Description<D> kDevice{
      {field<&D::id>("id"), field<&D::name>("name"), field<&D::total>("total_bytes"),
       field<&D::free>("free_bytes"), field<&D::used>("used_bytes", "by all processes and drivers"),
       field<&D::used_by_others>("used_by_others_bytes", "used_bytes without allocated_bytes"),
       field<&D::allocated>("allocated_bytes",
                            "buffers of this process: 0, as devices allocates none"),
       field<&D::allocation>("allocation", "used_bytes / total_bytes").in("1"),
       field<&D::utilisation>("utilisation",
                              "busy share of its time, 0 to 1; of a CPU: of all cores")
           .in("1"),
       field<&D::temperature_c>("temperature_c"),
       field_as<TextOrNull, &D::source>("source",
                                        "NVML, sysfs, or host for a CPU, whose figures are the "
                                        "host's; null: none"),
       field_as<TextOrNull, &D::reason>("reason", "why figures are null; null: all are known")}};
  return kDevice;
}

template <>
const Description<StatusDocument>& description<StatusDocument>() {
  using D = StatusDocument;
  static const Description<D> kDocument{
      {document_id<D, kStatusId>(), field<&D::devices>("devices")},
      "Memory, utilisation and temperature of devices now. A figure that is not known is null."};
  return kDocument;
}

std::string status_json(std::span<const DeviceStatus> devices) {
  return indented_json(status_value(devices));
}
std::string status_json_line(std::span<const DeviceStatus> devices) {
  return flat_json(status_value(devices)) + '\n';
}
std::string status_schema() {
  return schema_document<StatusDocument>(
      kStatusId, "mgpu-bench status, what devices --status --json prints", Keys::named);
}

std::string status_table(std::span<const DeviceStatus> devices, const TableStyle& style) {
  const auto bytes = [](const std::optional<Bytes>& value) {
    return value ? format_bytes(static_cast<double>(*value)) : "-";
  };
  const auto number = [](const std::optional<double>& value, double factor) {
    return value ? fmt::format("{:.0f}", *value * factor) : "-";
  };
  std::vector<TextRow> rows;
  std::string notes;
  for (const DeviceStatus& device : devices) {
    rows.push_back({{device.id, device.name, bytes(device.total), bytes(device.free),
                     bytes(device.used_by_others), bytes(device.allocated),
                     number(device.allocation, 100), number(device.utilisation, 100),
                     number(device.temperature_c, 1), device.source.empty() ? "-" : device.source},
                    ""});
    if (!device.reason.empty())
      notes += wrapped_prose(printable(device.id + ": - for " + device.reason) + "\n", style, 2);
  }
  std::vector<std::string> hidden;
  const std::string table = draw_table({{"id", "", false, 0, false},
                                        {"name", "", false, 20, true},
                                        {"total", "", true, 0, false},
                                        {"free", "", true, 0, false},
                                        {"by others", "", true, 0, false},
                                        {"by us", "", true, 40, false},
                                        {"allocation", "%", true, 0, false},
                                        {"utilisation", "%", true, 0, false},
                                        {"temperature", "C", true, 0, false},
                                        {"source", "", false, 30, false}},
                                       std::move(rows), style.width, style.color, hidden);
  return table + notes + hidden_line(hidden, "a wider terminal, or --json", style.width);
}

}  // namespace mgpu
