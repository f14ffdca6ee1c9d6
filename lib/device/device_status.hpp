// Describes the current use of a device: memory, utilisation and temperature. For people who want
// to know whether it is free.
#pragma once

#include <optional>
#include <string>

#include "lib/base/units.hpp"

namespace mgpu {

struct DeviceStatus {
  std::string id, name;
  Bytes total = 0;
  std::optional<Bytes> free, used;
  // Memory of other processes and of drivers, and buffers of this process.
  std::optional<Bytes> used_by_others;
  Bytes allocated = 0;
  std::optional<double> allocation;   // used / total, 0 to 1
  std::optional<double> utilisation;  // busy share of its time, 0 to 1; of a CPU: of all cores
  std::optional<double> temperature_c;
  std::string source;  // "NVML", "sysfs", "host" for a CPU; empty: none
  std::string reason;  // why figures are unknown; empty: all are known
};

}  // namespace mgpu
