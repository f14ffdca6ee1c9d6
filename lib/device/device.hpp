// Device: plain facts about one OpenCL device, constructible by hand in a test. How they were read
// is in lib/opencl/cl_describe.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/units.hpp"

namespace mgpu {

enum class DeviceType { gpu, cpu, accelerator, custom };

// Node of a device, in a run on several machines.
struct DeviceNode {
  std::uint32_t number = 0;  // its rank
  std::string host;
};

struct Device {
  // "platform:device", with ".k" for sub-device k: "0:0", "0:0.1". Devices of other nodes than 0
  // have the node's number as a prefix: "2/0:0.1".
  std::string id;
  std::string name, vendor, driver_version, device_version;
  std::string isa;  // what AMD's driver gives as the name: "gfx942:sramecc+:xnack-"; empty: others
  std::string platform, platform_vendor, platform_version;
  DeviceType type = DeviceType::gpu;
  Bytes global_memory = 0, max_allocation = 0, local_memory = 0;
  std::uint32_t compute_units = 0, clock_mhz = 0;
  std::uint32_t native_float_width = 1;
  std::size_t max_work_group = 0;
  // Parts of a buffer begin at multiples of it; 0: not known. Not recorded.
  Bytes buffer_alignment = 0;
  std::optional<std::uint32_t> compute_capability;  // NVIDIA: major * 10 + minor
  bool host_unified_memory = false, fp64 = false, virtualised = false;
  bool fp32_denormals = true;       // not recorded: only verification uses it
  bool fma_is_slow = false;         // a fused multiply-add in single precision is a routine
  bool has_parts = true;            // not recorded: it can be split into sub-devices
  std::optional<std::string> pci;   // "0000:1a:00.0"
  std::optional<std::string> uuid;  // lower-case hex with dashes, no prefix
  // The host's NUMA node that it is attached to; none: there is one only, or it is not known.
  std::optional<std::uint32_t> numa_node;
  std::vector<std::string> extensions;
  std::optional<DeviceNode> node;  // none: the run has one node
  double score = 0;                // static score 0-100: lib/device/score.hpp

  bool is_cpu() const { return type == DeviceType::cpu; }
  // Tells whether it is a CPU of several cores that can be devices of their own.
  bool can_be_split() const { return is_cpu() && has_parts && compute_units > 1; }
  bool is_elsewhere() const { return node && node->number != 0; }  // on another machine, as a rule
};

// Returns "gpu", "cpu", "accelerator" or "custom", the names in print, in JSON and as a selector
// term.
std::string_view to_string(DeviceType type);

// Returns what the device is known by in another process: its UUID or PCI address, with the number
// of a sub-device; else its id.
std::string identity_of(const Device& device);

// Tells whether two devices are of one kind, and therefore equally fast.
inline bool same_kind(const Device& a, const Device& b) {
  return a.name == b.name && a.platform == b.platform && a.compute_units == b.compute_units &&
         a.global_memory == b.global_memory;
}

}  // namespace mgpu
