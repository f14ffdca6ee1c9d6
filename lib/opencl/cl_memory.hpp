// How much memory of a device is free: OpenCL itself does not report it.
#pragma once

#include <atomic>
#include <memory>

#include "lib/device/device.hpp"
#include "lib/opencl/cl_common.hpp"

namespace mgpu {

// Memory that several opened devices of this process share: sub-devices share that of their parent,
// and all CPU devices that of the host, as clones of one CPU (POCL_DEVICES="cpu cpu") each report
// all of it.
struct ClMemoryPool {
  std::atomic<unsigned> devices = 0;  // number of open devices
  std::atomic<Bytes> allocated = 0;   // bytes that all of them allocated
};

// Membership of a device in a pool; the destructor ends it.
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

// Returns how much this device may still allocate: the free memory that the vendor reports (AMD by
// OpenCL, NVIDIA by its management library), else 0.8 of the total minus what the pool has
// allocated; divided by the number of devices in the pool.
Bytes free_device_memory(const cl::Device& device, const Device& facts, const ClMemoryPool& pool);

}  // namespace mgpu
