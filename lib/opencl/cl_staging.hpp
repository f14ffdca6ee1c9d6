// Pinned host memory for small transfers of one device. A download of 32 bytes into ordinary memory
// is known to be complete 28 us after its end, at times 300 us (the driver copies it in a thread of
// its own); one into pinned memory, 5 us after (H200, driver 580.159.04).
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
  // Size of the memory, and of the largest transfer through it.
  static constexpr std::size_t kSize = std::size_t{1} << 20, kLargest = std::size_t{1} << 18;
  ClStaging() = default;  // empty: every take() fails
  // `pinned` has the memory that needs no staging. `wait` returns when an event's command is
  // complete. Throws cl::Error and what `wait` throws.
  ClStaging(const cl::Context& context, const cl::CommandQueue& queue,
            std::shared_ptr<const PinnedRanges> pinned,
            const std::function<void(const cl::Event&)>& wait);
  ClStaging(ClStaging&& other) noexcept;
  ClStaging& operator=(ClStaging&& other) noexcept;
  ~ClStaging();  // blocks until the device no longer uses it: lib/exec/driver_call.hpp

  // Returns N bytes for the N bytes of `memory`; they are the caller's until release(). Returns an
  // empty span if the transfer should go directly: from or to pinned memory (copying 256 KiB takes
  // a host thread 26 us), if it is too large, or if not enough is free.
  std::span<std::byte> take(std::span<const std::byte> memory);
  // Frees everything taken since the last release; no transfer may be using it any more.
  void release() { used_ = 0; }

 private:
  cl::CommandQueue queue_;
  std::shared_ptr<const PinnedRanges> pinned_;
  cl::Buffer buffer_;
  std::byte* memory_ = nullptr;
  std::size_t used_ = 0;
};

}  // namespace mgpu
