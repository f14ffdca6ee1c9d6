#include "lib/opencl/cl_staging.hpp"

#include <utility>

#include "lib/exec/leak.hpp"

namespace mgpu {

ClStaging::ClStaging(const cl::Context& context, const cl::CommandQueue& queue,
                     std::shared_ptr<const PinnedRanges> pinned,
                     const std::function<void(const cl::Event&)>& wait)
    : queue_(queue), pinned_(std::move(pinned)) {
  buffer_ = cl::Buffer(context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, kSize);
  cl::Event mapped;
  void* const memory = queue_.enqueueMapBuffer(buffer_, CL_FALSE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                               kSize, nullptr, &mapped);
  try {
    queue_.flush();
    wait(mapped);
  } catch (...) {
    leak(std::move(buffer_));  // the device may still be mapping it
    throw;
  }
  memory_ = static_cast<std::byte*>(memory);
}

ClStaging::ClStaging(ClStaging&& other) noexcept { *this = std::move(other); }

ClStaging& ClStaging::operator=(ClStaging&& other) noexcept {
  std::swap(queue_, other.queue_);
  std::swap(pinned_, other.pinned_);
  std::swap(buffer_, other.buffer_);
  std::swap(memory_, other.memory_);
  std::swap(used_, other.used_);
  return *this;
}

ClStaging::~ClStaging() {
  if (memory_ == nullptr) return;
  clEnqueueUnmapMemObject(queue_(), buffer_(), memory_, 0, nullptr, nullptr);
  clFinish(queue_());
}

std::span<std::byte> ClStaging::take(std::span<const std::byte> memory) {
  constexpr std::size_t line = 64;
  const std::size_t rounded = (memory.size() + line - 1) / line * line;
  if (memory_ == nullptr || memory.size() > kLargest || used_ + rounded > kSize ||
      pinned_->hold(memory))
    return {};
  const std::span<std::byte> taken(memory_ + used_, memory.size());
  used_ += rounded;
  return taken;
}

}  // namespace mgpu
