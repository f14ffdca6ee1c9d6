#include "lib/opencl/cl_memory.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "lib/opencl/nvml.hpp"

namespace mgpu {
namespace {

// cl_amd_device_attribute_query: KiB free, KiB of the largest free block
constexpr cl_device_info kGlobalFreeMemoryAmd = 0x4039;
constexpr double kUsable = 0.8;  // the rest is for the driver, the desktop and other processes

std::optional<Bytes> reported_by_vendor(const cl::Device& device, const Device& facts) {
  const auto has = [&](const char* extension) {
    return std::find(facts.extensions.begin(), facts.extensions.end(), extension) !=
           facts.extensions.end();
  };
  std::array<std::size_t, 2> kib{};
  if (has("cl_amd_device_attribute_query") &&
      clGetDeviceInfo(device(), kGlobalFreeMemoryAmd, sizeof kib, kib.data(), nullptr) ==
          CL_SUCCESS) {
    return Bytes{kib[0]} * 1024;
  }
  if (!has("cl_nv_device_attribute_query") || Nvml::instance() == nullptr) return std::nullopt;
  return Nvml::instance()->free_memory(facts);
}

}  // namespace

Bytes free_device_memory(const cl::Device& device, const Device& facts, const ClMemoryPool& pool) {
  const Bytes allocated = pool.allocated;
  const auto usable = static_cast<Bytes>(kUsable * static_cast<double>(facts.global_memory));
  const Bytes assumed = usable > allocated ? usable - allocated : 0;
  return reported_by_vendor(device, facts).value_or(assumed) / std::max(1u, pool.devices.load());
}

}  // namespace mgpu
