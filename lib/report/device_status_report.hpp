// Status of devices, as a table and as JSON: devices --status.
#pragma once

#include <span>
#include <string>

#include "lib/device/device_status.hpp"
#include "lib/report/table_writer.hpp"

namespace mgpu {

std::string status_table(std::span<const DeviceStatus> devices, const TableStyle& style);
std::string status_json(std::span<const DeviceStatus> devices);       // a document
std::string status_json_line(std::span<const DeviceStatus> devices);  // the same on one line
std::string status_schema();

}  // namespace mgpu
