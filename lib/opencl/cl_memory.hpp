// How much memory of a device is free: OpenCL itself does not tell.
#pragma once

#include <atomic>
#include <memory>

#include "lib/device/device.hpp"
#include "lib/opencl/cl_common.hpp"

namespace mgpu {

// Memory that several opened devices of this process share: sub-devices that of their parent; and
// all CPU devices that of the host, as clones of one CPU (POCL_DEVICES="cpu cpu") each report the
// whole.
struct ClMemoryPool {
  std::atomic<unsigned> devices = 0;  // opened
  std::atomic<Bytes> allocated = 0;   // by all of them
};

// A device's place in a pool; left by the destructor.
class ClPoolMember {
 public:
  explicit ClPoolMember(std::shared_ptr<ClMemoryPool> pool) : pool_(std::move(pool)) {
    ++pool_->devices;
  }
  ~ClPoolMember() { --pool_->devices; }
  ClPoolMember(const ClPoolMember&) = delete;
  ClPoolMember& operator=(const ClPoolMember&) = delete;
  const std::shared_ptr<ClMemoryPool>& pool() const { return pool_; }

 private:
  std::shared_ptr<ClMemoryPool> pool_;
};

// What this device may still allocate: what the vendor says is free (AMD by OpenCL, NVIDIA by its
// management library), else 0.8 of the total less what the pool has allocated; an equal share of it
// where the pool has several devices.
Bytes free_device_memory(const cl::Device& device, const Device& facts, const ClMemoryPool& pool);

}  // namespace mgpu
