// What can be read about a device or the machine while it works: NVIDIA's library, and the files
// under /proc and /sys. A figure that is not there is not known; nothing is estimated.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lib/device/device.hpp"
#include "lib/opencl/nvml.hpp"
#include "lib/profile/telemetry.hpp"

namespace mgpu {

// Reads one thing. Used by one thread.
class TelemetrySource {
 public:
  virtual ~TelemetrySource() = default;
  // All but the time. Figures that are differences are of the time since the call before; the first
  // call has none of them. `elapsed`: since then, 0 at the first.
  virtual TelemetryReading read(Nanos elapsed) = 0;
};

struct WatchedThing {
  std::string of;      // a device's id, or kHost
  std::string source;  // "NVML", "sysfs", "procfs", "host" (a CPU is what the host's figures are
                       // of); empty: none, see `reason`
  std::string reason;
  std::unique_ptr<TelemetrySource> reader;  // null: nothing of its own to read
  unsigned every = 1;                       // it is read at every so many looks
};

struct TelemetryPlaces {
  std::filesystem::path root = "/";         // where proc and sys are
  const Nvml* (*nvml)() = &Nvml::instance;  // asked when a device is not a CPU; null: none
};

// The host first, then every device. All that was found were read once, to see that they can be.
std::vector<WatchedThing> find_telemetry(std::span<const Device> devices,
                                         const TelemetryPlaces& places);

// lib/measure/telemetry_host.cpp: load by /proc/stat and of this process, memory, clocks of at most
// 8 cores spread evenly, the hottest sensor of the CPU, energy of all packages by RAPL where
// readable.
std::unique_ptr<TelemetrySource> make_host_source(const std::filesystem::path& root);

// lib/measure/telemetry_gpu.cpp. Null when it has none of these files: no such GPU, or no such
// driver.
std::unique_ptr<TelemetrySource> make_sysfs_source(const std::filesystem::path& root,
                                                   const std::string& pci);
std::unique_ptr<TelemetrySource> make_nvml_source(const Nvml& nvml, Nvml::Handle gpu);

}  // namespace mgpu
