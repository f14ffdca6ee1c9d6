// Pinned host memory for small transfers of one device. A download of 32 bytes into ordinary memory
// is known to be complete 28 us after it is, now and then 300 us (the driver copies it with a
// thread of its own); into pinned memory 5 us (H200, driver 580.159.04).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "lib/opencl/cl_common.hpp"
#include "lib/opencl/pinned_ranges.hpp"

namespace mgpu {

class ClStaging {
 public:
  static constexpr std::size_t kSize = std::size_t{1} << 20,
                               kLargest = std::size_t{1} << 18;  // in all; at once
  ClStaging() = default;  // holds nothing: every take() fails
  // `pinned`: the memory that needs no such detour. `wait` returns when an event's command is
  // complete. Throws cl::Error and what `wait` throws.
  ClStaging(const cl::Context& context, const cl::CommandQueue& queue,
            std::shared_ptr<const PinnedRanges> pinned,
            const std::function<void(const cl::Event&)>& wait);
  ClStaging(ClStaging&& other) noexcept;
  ClStaging& operator=(ClStaging&& other) noexcept;
  ~ClStaging();  // blocks until the device is done with it: lib/exec/driver_call.hpp

  // As many bytes as `memory` has, that stay the caller's until release(). Empty where the transfer
  // should go straight: from or to pinned memory (to copy 256 KiB takes a host thread 26 us), of
  // more than is worth it, or when none are free.
  std::span<std::byte> take(std::span<const std::byte> memory);
  // What was taken since the last release, all of it: nothing that uses it is under way any more.
  void release() { used_ = 0; }

 private:
  cl::CommandQueue queue_;
  std::shared_ptr<const PinnedRanges> pinned_;
  cl::Buffer buffer_;
  std::byte* memory_ = nullptr;
  std::size_t used_ = 0;
};

}  // namespace mgpu
