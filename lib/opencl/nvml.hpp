// NVIDIA's management library, loaded at run time where there is one: what OpenCL does not tell
// about a GPU. No header and no link to it is needed; without it every question is answered by "not
// known".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "lib/device/device.hpp"
#include "lib/device/device_state.hpp"

namespace mgpu {

// What a GPU says of itself now; none: it does not say.
struct NvmlFigures {
  std::optional<double> clock_mhz, memory_clock_mhz, power_w, energy_j, temperature_c,
      utilisation;  // utilisation: 0 to 1
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

  // The process's own, loaded at the first call and never unloaded; null when it cannot be loaded
  // or does not start. Thread-safe.
  static const Nvml* instance();
  // Null likewise.
  static std::unique_ptr<Nvml> load(const std::string& library);
  ~Nvml();

  // The GPU, or the part of one, with the device's UUID or PCI address; null when it is none of
  // NVIDIA's.
  Handle find(const Device& device) const;
  std::optional<Bytes> free_memory(const Device& device) const;
  NvmlFigures figures(Handle gpu) const;
  // The link as it is now; it slows down while the GPU idles. None: not known.
  struct PcieLink {
    std::optional<double> generation, width;
  };
  PcieLink pcie_link(Handle gpu) const;
  // What the GPU, or the one that it is a part of, is set to. There is no question for locked
  // clocks: they show as a reason why the clock is held down while it works.
  DeviceState state(Handle gpu) const;
  // That compute on it, ours too; slower than figures().
  std::optional<unsigned> compute_processes(Handle gpu) const;

 private:
  struct Functions;
  explicit Nvml(std::unique_ptr<Functions> functions);

  std::unique_ptr<Functions> functions_;
};

}  // namespace mgpu
