// Enumeration, sub-devices, opening and pinning for OpenCL.
#include "lib/opencl/cl_backend.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "lib/device/score.hpp"
#include "lib/exec/driver_call.hpp"
#include "lib/opencl/cl_common.hpp"
#include "lib/opencl/cl_describe.hpp"
#include "lib/opencl/cl_device.hpp"
#include "lib/opencl/cl_entry_points.hpp"
#include "lib/opencl/cl_peers.hpp"
#include "lib/opencl/cl_pinned.hpp"
#include "lib/opencl/cl_program_cache.hpp"

namespace mgpu {
namespace {

struct PinnedByPlatforms final : PinnedMemory {
  std::vector<std::unique_ptr<PinnedMemory>> all;
};

class ClBackend final : public Backend, public ConnectsParts {
 public:
  explicit ClBackend(const ClBackendOptions& options)
      : kernels_(options.kernels), cache_(options.cache_dir) {}

  Enumeration enumerate() override {
    Enumeration found;
    attend(*this, nullptr, [&] { enumerate_platforms(found); });
    std::stable_sort(found.devices.begin(), found.devices.end(), ranks_before);
    return found;
  }

  std::vector<Device> split(const Device& device, unsigned parts) override {
    std::vector<Device> facts;
    attend(*this, nullptr, [&] { facts = split_attended(device, parts); });
    return facts;
  }

  std::unique_ptr<OpenDevice> open(const Device& device, const Handicap& handicap) override {
    std::unique_ptr<OpenDevice> opened;
    attend(*this, nullptr, [&] { opened = open_attended(device, handicap); });
    return opened;
  }

  std::unique_ptr<PinnedMemory> pin(std::span<const std::byte> memory,
                                    std::span<OpenDevice* const> devices) override {
    std::unique_ptr<PinnedMemory> pinned;
    if (memory.empty()) return pinned;
    try {
      attend(*this, nullptr, [&] { pinned = pin_attended(memory, devices); });
    } catch (const Error&) {  // A device that hangs is reported when it is used.
    }
    return pinned;
  }

  std::unique_ptr<PeerGroup> connect(std::span<OpenDevice* const> devices,
                                     std::optional<PeerPath> path) override {
    std::unique_ptr<PeerGroup> group;
    attend(*this, nullptr, [&] { group = connect_part(devices, path, {}); });
    return group;
  }
  std::unique_ptr<PartOfGroup> connect_part(std::span<OpenDevice* const> devices,
                                            std::optional<PeerPath> path,
                                            DevicesElsewhere elsewhere) override {
    std::vector<ClDevice*> opened;
    for (OpenDevice* device : devices) opened.push_back(static_cast<ClDevice*>(device));
    return std::make_unique<ClPeers>(*this, std::move(opened), path, std::move(elsewhere));
  }

  Nanos now() override { return host_now(); }
  bool is_virtual() const override { return false; }
  bool advance(std::optional<Nanos>) override { return false; }

 private:
  void enumerate_platforms(Enumeration& found) {
    std::vector<cl::Platform> platforms;
    try {
      const DriverCall inside(nullptr, true);
      cl::Platform::get(&platforms);
    } catch (const cl::Error& error) {
      // No platform at all is an empty list, not a failure.
      if (const std::string why = why_no_opencl_loader(); !why.empty())
        found.warnings.push_back("the OpenCL loader cannot be loaded: " + why);
      else if (error.err() != -1001)
        found.warnings.push_back("OpenCL platforms cannot be listed: " +
                                 cl_status_name(error.err()));
    }
    for (std::size_t p = 0; p < platforms.size(); ++p) enumerate_platform(platforms[p], p, found);
  }

  std::vector<Device> split_attended(const Device& device, unsigned parts) {
    const std::string refused =
        "device " + device.id + " " + device.name + " has " + std::to_string(device.compute_units) +
        " compute units and cannot be split into " + std::to_string(parts) + " equal sub-devices";
    const unsigned units = parts == 0 ? 0 : device.compute_units / parts;
    if (units == 0) throw Error(ErrorKind::unsupported, refused);
    std::vector<Device> facts;
    try {
      const cl_device_partition_property by_counts = CL_DEVICE_PARTITION_BY_COUNTS;
      std::vector<cl_device_partition_property> properties{by_counts};
      properties.insert(properties.end(), parts, static_cast<cl_device_partition_property>(units));
      properties.insert(properties.end(), {CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0});
      std::vector<cl::Device> made;
      const DriverCall inside(nullptr, true);
      handle(device).createSubDevices(properties.data(), &made);
      for (std::size_t k = 0; k < made.size(); ++k) {
        facts.push_back(describe(made[k], device.id + "." + std::to_string(k)));
        handles_[facts.back().id] = made[k];
      }
    } catch (const cl::Error& error) {
      const cl_int status = error.err();
      if (status == CL_DEVICE_PARTITION_FAILED || status == CL_INVALID_DEVICE_PARTITION_COUNT ||
          status == CL_INVALID_VALUE)
        throw Error(ErrorKind::unsupported, refused + ": " + cl_status_name(status));
      throw cl_failure("splitting device " + device.id + " " + device.name, status);
    }
    return facts;
  }

  std::unique_ptr<OpenDevice> open_attended(const Device& device, const Handicap& handicap) {
    const DriverCall opening(nullptr, true);  // copying a handle calls the driver, too
    return std::make_unique<ClDevice>(*this, device, handicap, handle(device), kernels_,
                                      is_pocl(device) ? no_cache_ : cache_, pool_of(device),
                                      pinned_of(device));
  }

  // Pins the memory once for each driver: what one context pins is fast for all others of it
  // (measured on NVIDIA's), and means nothing to another driver. A device that reads it in place
  // needs buffers in its own context.
  std::unique_ptr<PinnedMemory> pin_attended(std::span<const std::byte> memory,
                                             std::span<OpenDevice* const> devices) {
    std::map<std::string, std::unique_ptr<PinnedMemory>> pins;
    for (OpenDevice* open : devices) {
      auto& device = static_cast<ClDevice&>(*open);
      if (device.facts().is_cpu()) continue;
      std::unique_ptr<PinnedMemory>& pinned =
          pins[device.host_views() ? device.facts().id : device.facts().platform];
      if (pinned) continue;
      try {
        pinned = std::make_unique<ClPinned>(*this, device, memory, pinned_of(device.facts()));
      } catch (const cl::Error&) {
        // Transfers work unpinned too, only slower; the record shows pin = 0.
      }
    }
    auto made = std::make_unique<PinnedByPlatforms>();
    for (auto& [who, pinned] : pins)
      if (pinned) made->all.push_back(std::move(pinned));
    return made->all.empty() ? nullptr : std::move(made);
  }

  void enumerate_platform(const cl::Platform& platform, std::size_t p, Enumeration& found) {
    std::string name = "platform " + std::to_string(p);
    std::vector<cl::Device> devices;
    try {
      name = platform.getInfo<CL_PLATFORM_NAME>().c_str();
      found.platforms.push_back(name);
      const DriverCall inside(nullptr, true);
      platform.getDevices(CL_DEVICE_TYPE_ALL, &devices);
    } catch (const cl::Error& error) {
      if (error.err() != CL_DEVICE_NOT_FOUND)
        found.warnings.push_back("platform " + name +
                                 " is left out: " + cl_status_name(error.err()));
    }
    for (std::size_t d = 0; d < devices.size(); ++d) {
      const std::string id = std::to_string(p) + ":" + std::to_string(d);
      try {
        const DriverCall inside(nullptr, true);
        if (const std::string why = why_unusable(devices[d]); !why.empty()) {
          found.warnings.push_back("device " + id + " of " + name + " is left out: " + why);
          continue;
        }
        found.devices.push_back(describe(devices[d], id));
        handles_[id] = devices[d];
      } catch (const cl::Error& error) {
        found.warnings.push_back("device " + id + " of " + name +
                                 " is left out: " + cl_status_name(error.err()));
      }
    }
  }

  cl::Device& handle(const Device& device) {
    const auto at = handles_.find(device.id);
    if (at == handles_.end())
      throw Error(ErrorKind::internal, "device " + device.id + " was not enumerated");
    return at->second;
  }

  std::shared_ptr<ClMemoryPool> pool_of(const Device& device) {
    auto& pool = pools_[device.is_cpu() ? "host" : device.id.substr(0, device.id.find('.'))];
    if (!pool) pool = std::make_shared<ClMemoryPool>();
    return pool;
  }

  std::shared_ptr<PinnedRanges> pinned_of(const Device& device) {
    auto& ranges = pinned_[device.platform];
    if (!ranges) ranges = std::make_shared<PinnedRanges>();
    return ranges;
  }

  std::span<const EmbeddedText> kernels_;
  ClProgramCache cache_;
  // PoCL caches what it builds itself. It hands out a program's binary only after it has compiled
  // every kernel again for work-groups of any size, which took 8 of 12.5 s for the kernels of msm.
  const ClProgramCache no_cache_{{}};
  std::map<std::string, std::shared_ptr<ClMemoryPool>> pools_;
  std::map<std::string, cl::Device> handles_;
  std::map<std::string, std::shared_ptr<PinnedRanges>> pinned_;  // by platform
};

}  // namespace

std::unique_ptr<Backend> make_cl_backend(const ClBackendOptions& options) {
  return std::make_unique<ClBackend>(options);
}

}  // namespace mgpu
