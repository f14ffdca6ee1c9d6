// Sources of telemetry about a device or the machine: NVIDIA's library, and files under /proc and
// /sys. A missing figure is unknown; nothing is estimated.
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

// Reads one thing. Used by one thread at a time.
class TelemetrySource {
 public:
  virtual ~TelemetrySource() = default;
  // Reads everything but the time. Figures that are differences refer to the time since the
  // previous call, and the first call has none of them. `elapsed`: time since the previous call, 0
  // at the first.
  virtual TelemetryReading read(Nanos elapsed) = 0;
  // Reads the counter of energy, and power at least at every 20th call, alone: often, without the
  // time that other figures take.
  virtual TelemetryReading read_energy(Nanos elapsed) = 0;
};

struct WatchedThing {
  std::string of;  // a device's id, or kHost
  // "NVML", "sysfs", "procfs, sysfs", or "host" for a CPU, whose figures are the host's; empty:
  // none, see `reason`.
  std::string source;
  // Why there is no source, or what sysfs does not report: "no clock, energy counter".
  std::string reason;
  std::unique_ptr<TelemetrySource> reader;  // null: it has no figures of its own
  unsigned every = 1;                       // it is read at every N-th reading
};

struct TelemetryPlaces {
  std::filesystem::path root = "/";         // folder that contains proc and sys
  const Nvml* (*nvml)() = &Nvml::instance;  // called for devices that are not CPUs; null: no NVML
};

// Finds the sources of the host and then of every device. Each source has been read once to see
// that it works.
std::vector<WatchedThing> find_telemetry(std::span<const Device> devices,
                                         const TelemetryPlaces& places);

// Finds the same things, of which only energy and power are read; those without them have no
// reader, and a reason.
std::vector<WatchedThing> find_energy(std::span<const Device> devices,
                                      const TelemetryPlaces& places);

// lib/measure/telemetry_host.cpp. Reads load from /proc/stat, in total and of this process, memory,
// clocks of at most 8 cores spread evenly, the hottest sensor of the CPU, and energy of all
// packages by RAPL if readable.
std::unique_ptr<TelemetrySource> make_host_source(const std::filesystem::path& root);
std::string why_no_rapl(const std::filesystem::path& root);  // for a source without energy

// lib/measure/telemetry_sysfs.cpp. Returns null if none of the files exists: no such GPU, or no
// such driver.
std::unique_ptr<TelemetrySource> make_sysfs_source(const std::filesystem::path& root,
                                                   const std::string& pci);
// Returns the folder of a PCI device's sensors: that of the card, as i915 has others for its parts
// (named i915_gt0, ...).
std::filesystem::path sensors_of(const std::filesystem::path& device);

// lib/measure/telemetry_gpu.cpp.
std::unique_ptr<TelemetrySource> make_nvml_source(const Nvml& nvml, Nvml::Handle gpu);

}  // namespace mgpu
