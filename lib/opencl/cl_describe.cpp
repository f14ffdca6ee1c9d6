// clGetDeviceInfo -> Device.
#include "lib/opencl/cl_describe.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <sstream>
#include <utility>

#include "lib/base/numa.hpp"
#include "lib/device/score.hpp"

namespace mgpu {
namespace {

// Extension queries by number, so that they work with headers that lack them.
constexpr cl_device_info kUuidKhr = 0x106A;  // cl_khr_device_uuid: 16 bytes
constexpr cl_device_info kPciBusInfoKhr =
    0x410F;  // cl_khr_pci_bus_info: domain, bus, device, function
constexpr cl_device_info kNvCapabilityMajor = 0x4000,
                         kNvCapabilityMinor = 0x4001;  // cl_nv_device_attribute_query
constexpr cl_device_info kNvPciBus = 0x4008, kNvPciSlot = 0x4009, kNvPciDomain = 0x400A;
// cl_amd_device_attribute_query: 4 bytes of type, of which 1 is PCIe, 17 unused ones, and one each
// for bus, device and function; and the name of the board, where CL_DEVICE_NAME is that of the ISA.
constexpr cl_device_info kAmdTopology = 0x4037, kAmdBoardName = 0x4038;

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\0' || text.back() == ' ' || text.back() == '\n'))
    text.pop_back();
  const auto first = text.find_first_not_of(' ');
  return first == std::string::npos ? std::string() : text.substr(first);
}

std::optional<cl_uint> query_uint(const cl::Device& device, cl_device_info what) {
  cl_uint value = 0;
  if (clGetDeviceInfo(device(), what, sizeof value, &value, nullptr) != CL_SUCCESS)
    return std::nullopt;
  return value;
}

DeviceType type_of(cl_device_type type) {
  if (type & CL_DEVICE_TYPE_GPU) return DeviceType::gpu;
  if (type & CL_DEVICE_TYPE_CPU) return DeviceType::cpu;
  if (type & CL_DEVICE_TYPE_ACCELERATOR) return DeviceType::accelerator;
  return DeviceType::custom;
}

std::optional<std::string> pci_address(const cl::Device& device) {
  std::array<cl_uint, 4> khr{};
  char text[32];
  if (clGetDeviceInfo(device(), kPciBusInfoKhr, sizeof khr, khr.data(), nullptr) == CL_SUCCESS) {
    std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", khr[0], khr[1], khr[2], khr[3]);
    return text;
  }
  std::array<unsigned char, 24> amd{};
  if (clGetDeviceInfo(device(), kAmdTopology, amd.size(), amd.data(), nullptr) == CL_SUCCESS &&
      amd[0] == 1) {
    std::snprintf(text, sizeof text, "0000:%02x:%02x.%x", amd[21], amd[22], amd[23]);
    return text;
  }
  const auto bus = query_uint(device, kNvPciBus), slot = query_uint(device, kNvPciSlot),
             domain = query_uint(device, kNvPciDomain);
  if (!bus || !slot) return std::nullopt;
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", domain.value_or(0), *bus, *slot >> 3,
                *slot & 7);
  return text;
}

std::optional<std::string> uuid_of(const cl::Device& device, const std::string& extensions) {
  if (extensions.find("cl_khr_device_uuid") == std::string::npos) return std::nullopt;
  std::array<unsigned char, 16> uuid{};
  if (clGetDeviceInfo(device(), kUuidKhr, uuid.size(), uuid.data(), nullptr) != CL_SUCCESS)
    return std::nullopt;
  // rusticl gives its version, "mesa25.0.7-2+deb", for every software device.
  const auto is_text = [](unsigned char c) { return c >= ' ' && c <= '~'; };
  const auto text_end = std::find_if_not(uuid.begin(), uuid.end(), is_text);
  if (text_end - uuid.begin() >= 8 && std::count(text_end, uuid.end(), 0) == uuid.end() - text_end)
    return std::nullopt;
  std::string text;
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    char byte[3];
    std::snprintf(byte, sizeof byte, "%02x", uuid[i]);
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += byte;
  }
  return text;
}

std::string board_name(const cl::Device& device) {
  std::array<char, 256> name{};
  if (clGetDeviceInfo(device(), kAmdBoardName, name.size() - 1, name.data(), nullptr) != CL_SUCCESS)
    return {};
  return trimmed(name.data());
}

bool is_virtual_gpu(const std::string& name) {
  for (const char* mark : {"llvmpipe", "virgl", "virtio", "SwiftShader", "Oclgrind"}) {
    if (name.find(mark) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

std::string why_unusable(const cl::Device& device) {
  int major = 0, minor = 0;
  const std::string version = device.getInfo<CL_DEVICE_VERSION>();
  if (std::sscanf(version.c_str(), "OpenCL %d.%d", &major, &minor) == 2 &&
      (major < 1 || (major == 1 && minor < 2)))
    return "it has " + trimmed(version.substr(0, version.find(' ', 7))) + ", which is below 1.2";
  if (!device.getInfo<CL_DEVICE_AVAILABLE>()) return "its driver says that it is not available";
  if (!device.getInfo<CL_DEVICE_COMPILER_AVAILABLE>()) return "it has no compiler for OpenCL C";
  if (!device.getInfo<CL_DEVICE_ENDIAN_LITTLE>()) return "it is big-endian";
  return {};
}

Device describe(const cl::Device& device, const std::string& id) {
  const cl::Platform platform(device.getInfo<CL_DEVICE_PLATFORM>());
  Device facts;
  facts.id = id;
  facts.name = trimmed(device.getInfo<CL_DEVICE_NAME>());
  if (std::string board = board_name(device); !board.empty() && board != facts.name)
    facts.isa = std::exchange(facts.name, std::move(board));
  facts.vendor = trimmed(device.getInfo<CL_DEVICE_VENDOR>());
  facts.driver_version = trimmed(device.getInfo<CL_DRIVER_VERSION>());
  facts.device_version = trimmed(device.getInfo<CL_DEVICE_VERSION>());
  facts.platform = trimmed(platform.getInfo<CL_PLATFORM_NAME>());
  facts.platform_vendor = trimmed(platform.getInfo<CL_PLATFORM_VENDOR>());
  facts.platform_version = trimmed(platform.getInfo<CL_PLATFORM_VERSION>());
  facts.type = type_of(device.getInfo<CL_DEVICE_TYPE>());
  facts.global_memory = device.getInfo<CL_DEVICE_GLOBAL_MEM_SIZE>();
  facts.max_allocation = device.getInfo<CL_DEVICE_MAX_MEM_ALLOC_SIZE>();
  facts.local_memory = device.getInfo<CL_DEVICE_LOCAL_MEM_SIZE>();
  facts.compute_units = device.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>();
  facts.clock_mhz = device.getInfo<CL_DEVICE_MAX_CLOCK_FREQUENCY>();
  facts.native_float_width = device.getInfo<CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT>();
  facts.max_work_group = device.getInfo<CL_DEVICE_MAX_WORK_GROUP_SIZE>();
  facts.buffer_alignment = device.getInfo<CL_DEVICE_MEM_BASE_ADDR_ALIGN>() / 8;
  facts.host_unified_memory = query_uint(device, CL_DEVICE_HOST_UNIFIED_MEMORY).value_or(0) != 0;
  facts.virtualised = is_virtual_gpu(facts.name);
  const std::string extensions = device.getInfo<CL_DEVICE_EXTENSIONS>();
  std::istringstream words(extensions);
  for (std::string word; words >> word;) facts.extensions.push_back(trimmed(word));
  const cl_device_fp_config single = device.getInfo<CL_DEVICE_SINGLE_FP_CONFIG>();
  facts.fp32_denormals = (single & CL_FP_DENORM) != 0;
  facts.fma_is_slow = (single & CL_FP_FMA) == 0;
  const auto ways = device.getInfo<CL_DEVICE_PARTITION_PROPERTIES>();
  facts.has_parts =
      std::find(ways.begin(), ways.end(), CL_DEVICE_PARTITION_BY_COUNTS) != ways.end();
  facts.fp64 = extensions.find("cl_khr_fp64") != std::string::npos;
  // PoCL has this extension for NVIDIA's devices, too, and a compiler of its own.
  if (extensions.find("cl_nv_device_attribute_query") != std::string::npos &&
      facts.platform_vendor.find("NVIDIA") != std::string::npos) {
    const auto major = query_uint(device, kNvCapabilityMajor),
               minor = query_uint(device, kNvCapabilityMinor);
    if (major && minor) facts.compute_capability = *major * 10 + *minor;
  }
  facts.pci = pci_address(device);
  if (facts.pci && !facts.is_cpu()) facts.numa_node = numa_node_of(*facts.pci);
  facts.uuid = uuid_of(device, extensions);
  facts.score = static_score(facts);
  return facts;
}

bool is_pocl(const Device& facts) {
  return facts.platform.find("Portable Computing Language") != std::string::npos;
}

DeviceTraits traits_of(const Device& facts) {
  DeviceTraits traits;
  traits.id = facts.id;
  traits.cpu = facts.is_cpu();
  traits.nvidia = facts.compute_capability.has_value();
  traits.host_unified = facts.host_unified_memory;
  traits.compute_units = facts.compute_units;
  traits.float_width = facts.native_float_width;
  traits.max_work_group = facts.max_work_group;
  traits.global_memory = facts.global_memory;
  traits.max_allocation = facts.max_allocation;
  traits.local_memory = facts.local_memory;
  traits.buffer_alignment = facts.buffer_alignment;
  traits.fp64 = facts.fp64;
  traits.fp32_denormals = facts.fp32_denormals;
  traits.fp64_tensor = facts.compute_capability == 90u ||
                       facts.compute_capability == 100u;  // H100, H200, GH200; B200
  return traits;
}

}  // namespace mgpu
