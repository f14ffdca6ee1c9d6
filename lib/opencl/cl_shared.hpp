// Memory with a piece on each device of a group. The contexts of other devices know a piece too, if
// their path to it is not staged.
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

// Imports the memory behind a file descriptor (cl_khr_external_memory_opaque_fd), which may be
// closed afterwards. Throws Error(unsupported), Error(out_of_memory).
cl::Buffer import_memory(ClDevice& device, const FileDescriptor& memory, Bytes size);

class ClSharedMemory final : public SharedMemory {
 public:
  // `devices` has null for a device that is elsewhere; `paths` is indexed by sender and receiver.
  // Throws Error(out_of_memory), Error(unsupported), Error(device), Error(timeout).
  ClSharedMemory(std::span<ClDevice* const> devices, std::span<const PeerPath> paths, Bytes size);
  // Returns the size of the largest piece that devices with these paths can share.
  static Bytes most(std::span<const PeerPath> paths);
  // Puts all pieces in memory of the host that kernels of all devices reach (NVIDIA GPUs only).
  // Throws the same errors.
  ClSharedMemory(std::span<ClDevice* const> devices, Bytes size);
  ~ClSharedMemory() override;  // leaks everything if one of the devices may still be using it

  Bytes size() const override { return size_; }
  Buffer& piece(DeviceIndex device) override { return *known(device, device); }
  Buffer* remote(DeviceIndex by, DeviceIndex of) override { return known(by, of); }
  std::uint64_t address(DeviceIndex by, DeviceIndex of) override {
    return addresses_[by.value * states_.size() + of.value];
  }

 private:
  Buffer* known(DeviceIndex by, DeviceIndex of) {
    return buffers_[by.value * states_.size() + of.value].get();
  }
  void make_piece(std::span<ClDevice* const> devices, DeviceIndex device,
                  std::span<const PeerPath> paths);

  // States of the devices, which may be gone.
  std::vector<std::shared_ptr<const ClDeviceState>> states_;
  Bytes size_;
  std::vector<std::unique_ptr<Pages>> pages_;  // memory of CPUs
  // Buffers, indexed by the device that uses one and the device it belongs to; null: staged.
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<std::uint64_t> addresses_;  // of those on a direct path; 0: not known
};

}  // namespace mgpu
