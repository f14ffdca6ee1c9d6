// Pinned host memory for small transfers of one device. A download of 32 bytes into ordinary memory is known to be complete 28 us
// after it is, now and then 300 us (the driver copies it with a thread of its own); into pinned memory 5 us (H200, driver
// 580.159.04).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/exec/cl_common.hpp"

namespace mgpu {

class ClStaging {
 public:
  // Larger transfers go straight: their memory is pinned in place by whoever owns it, or they are not worth it.
  static constexpr std::size_t largest = std::size_t{1} << 18;

  ClStaging() = default;  // holds nothing: every take() fails
  // Throws cl::Error.
  ClStaging(const cl::Context& context, const cl::CommandQueue& queue);
  ClStaging(ClStaging&& other) noexcept;
  ClStaging& operator=(ClStaging&& other) noexcept;
  ~ClStaging();

  // `size` bytes that stay the caller's until release(); empty when they are too many or none are free.
  std::span<std::byte> take(std::size_t size);
  // What was taken since the last release, all of it: nothing that uses it is under way any more.
  void release() { used_ = 0; }

 private:
  static constexpr std::size_t kSize = std::size_t{1} << 20;
  cl::CommandQueue queue_;
  cl::Buffer buffer_;
  std::byte* memory_ = nullptr;
  std::size_t used_ = 0;
};

}  // namespace mgpu
