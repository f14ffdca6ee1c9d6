// Host memory pinned in place for the transfers of every device.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "lib/exec/backend.hpp"
#include "lib/opencl/cl_device.hpp"
#include "lib/opencl/pinned_ranges.hpp"

namespace mgpu {

// Buffers over the user's own memory, kept mapped, which pins it in place (512 MiB in 22 ms on an
// H200 host, against 228 ms to allocate pinned memory). After that ordinary writes from that
// pointer run at the link's full rate, from any context. Kernels of a device that shares the host's
// memory can read it in place; it must not change meanwhile.
class ClPinned final : public PinnedMemory {
 public:
  // Waits until it is pinned. Throws cl::Error, Error(timeout), Error(interrupted). `backend` must
  // outlive it, `device` need not.
  ClPinned(Backend& backend, ClDevice& device, std::span<const std::byte> memory,
           std::shared_ptr<PinnedRanges> known);
  // Waits for the device to release it, for as long as for an answer; if the device is known to
  // hang, leak this object instead.
  ~ClPinned() override;

 private:
  using Pieces = std::vector<std::pair<cl::Buffer, void*>>;

  Backend& backend_;
  cl::CommandQueue queue_;
  std::span<const std::byte> memory_;
  std::shared_ptr<PinnedRanges> known_;
  std::shared_ptr<ClHostViews> views_;  // null: the device does not share the host's memory
  Pieces pieces_;
};

}  // namespace mgpu
