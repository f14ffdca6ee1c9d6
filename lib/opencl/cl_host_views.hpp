// Buffers over host memory, for a device that shares it: kernels read parts of it in place.
// Thread-safe.
#pragma once

#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "lib/opencl/cl_common.hpp"
#include "lib/opencl/pinned_ranges.hpp"

namespace mgpu {

class ClHostViews {
 public:
  // `whole` is a buffer over all of `memory`.
  void add(std::span<const std::byte> memory, cl::Buffer whole) {
    const std::scoped_lock lock(mutex_);
    all_.emplace_back(memory, std::move(whole));
  }
  // Removes the buffers over parts of `memory`. Parts that view() returned keep them alive, but
  // must not be used once the memory is freed.
  void remove(std::span<const std::byte> memory) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(all_, [&](const auto& one) { return contains(memory, one.first); });
  }
  // Returns a buffer over `memory`; none: no whole has it, or a part cannot begin there, as parts
  // begin at multiples of `alignment`. Throws cl::Error.
  std::optional<cl::Buffer> view(std::span<const std::byte> memory, Bytes alignment) const {
    const std::scoped_lock lock(mutex_);
    for (const auto& [range, whole] : all_) {
      if (!contains(range, memory)) continue;
      const cl_buffer_region region{static_cast<std::size_t>(memory.data() - range.data()),
                                    memory.size()};
      if (alignment == 0 || region.origin % alignment != 0) return std::nullopt;
      cl::Buffer from = whole;
      return from.createSubBuffer(CL_MEM_READ_ONLY, CL_BUFFER_CREATE_TYPE_REGION, &region);
    }
    return std::nullopt;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<std::span<const std::byte>, cl::Buffer>> all_;
};

}  // namespace mgpu
