// NVIDIA's management library, loaded at run time if it is there: it knows facts about a GPU that
// OpenCL does not report. No header and no link to it is needed; without it every question is
// answered by "not known".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "lib/device/device.hpp"
#include "lib/device/device_state.hpp"

namespace mgpu {

// Figures that a GPU reports now; none: it does not report that one.
struct NvmlFigures {
  // `utilisation` is 0 to 1.
  std::optional<double> clock_mhz, memory_clock_mhz, power_w, temperature_c, utilisation;
  std::optional<Bytes> memory_used;
  std::optional<std::uint64_t> clock_limits;  // nvmlClocksEventReasons
};

class Nvml {
 public:
  static constexpr const char* kLibrary = "libnvidia-ml.so.1";
  // Bits of `clock_limits`.
  static constexpr std::uint64_t kIdle = 0x1, kClockSetting = 0x2, kSoftwarePowerCap = 0x4,
                                 kHardwareSlowdown = 0x8, kSyncBoost = 0x10,
                                 kSoftwareThermal = 0x20, kHardwareThermal = 0x40,
                                 kPowerBrake = 0x80;
  using Handle = void*;

  // Returns the library, loaded by the process at the first call and never unloaded; null when it
  // cannot be loaded or does not start. Thread-safe.
  static const Nvml* instance();
  // Returns null when `library` cannot be loaded or does not start.
  static std::unique_ptr<Nvml> load(const std::string& library);
  ~Nvml();

  // Returns the GPU, or the part of one, with the device's UUID or PCI address; null when it is not
  // an NVIDIA GPU.
  Handle find(const Device& device) const;
  std::optional<Bytes> free_memory(const Device& device) const;
  NvmlFigures figures(Handle gpu) const;
  std::optional<double> energy(Handle gpu) const;     // in J, since the driver was loaded
  std::optional<double> power_now(Handle gpu) const;  // not averaged, if the driver knows that
  // State of the link now; it slows down while the GPU idles. None: not known.
  struct PcieLink {
    std::optional<double> generation, width;
  };
  PcieLink pcie_link(Handle gpu) const;
  // Returns the settings of the GPU, or of the one that it is a part of. Locked clocks cannot be
  // asked for: they show as a reason why the clock is held down while the GPU works.
  DeviceState state(Handle gpu) const;
  // Returns how many processes compute on the GPU, this one included; slower than figures().
  std::optional<unsigned> compute_processes(Handle gpu) const;
  // Returns how many errors of its memory were counted since the driver was loaded.
  std::optional<std::uint64_t> ecc_errors(Handle gpu, bool uncorrected) const;

 private:
  struct Functions;
  explicit Nvml(std::unique_ptr<Functions> functions);

  std::unique_ptr<Functions> functions_;
};

}  // namespace mgpu
