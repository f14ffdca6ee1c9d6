// Memory with a piece on each device of a group, known to the contexts of others where a path other
// than staged leads there.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lib/opencl/cl_device.hpp"
#include "lib/opencl/cl_objects.hpp"
#include "lib/opencl/cuda_memory.hpp"
#include "lib/workload/pages.hpp"

namespace mgpu {

class ClSharedMemory final : public SharedMemory {
 public:
  // `devices`: null for one that is elsewhere. `paths`: by sender and receiver. Throws
  // Error(out_of_memory), Error(unsupported), Error(device), Error(timeout).
  ClSharedMemory(std::span<ClDevice* const> devices, std::span<const PeerPath> paths, Bytes size);
  // The largest piece that devices with these paths share.
  static Bytes most(std::span<const PeerPath> paths);
  // All pieces in memory of the host, which kernels of all devices reach: NVIDIA GPUs. Throws
  // likewise.
  ClSharedMemory(std::span<ClDevice* const> devices, Bytes size);
  ~ClSharedMemory() override;  // leaks it all where one of the devices may be at work on it

  Bytes size() const override { return size_; }
  Buffer& piece(DeviceIndex device) override { return *known(device, device); }
  Buffer* remote(DeviceIndex by, DeviceIndex of) override { return known(by, of); }

 private:
  Buffer* known(DeviceIndex by, DeviceIndex of) {
    return buffers_[by.value * states_.size() + of.value].get();
  }
  void make_piece(std::span<ClDevice* const> devices, DeviceIndex device,
                  std::span<const PeerPath> paths);

  std::vector<std::shared_ptr<const ClDeviceState>> states_;  // of the devices, which may be gone
  Bytes size_;
  std::vector<std::unique_ptr<Pages>> pages_;  // of CPUs
  std::vector<std::unique_ptr<Buffer>>
      buffers_;  // by the device that uses it and the one it belongs to; null: staged
};

}  // namespace mgpu
