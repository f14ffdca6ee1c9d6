#include "lib/opencl/cl_pinned.hpp"

#include <algorithm>

#include "lib/exec/driver_call.hpp"
#include "lib/exec/leak.hpp"
#include "lib/opencl/cl_wait.hpp"

namespace mgpu {

ClPinned::ClPinned(Backend& backend, ClDevice& device, std::span<const std::byte> memory,
                   std::shared_ptr<PinnedRanges> known)
    : backend_(backend),
      queue_(device.upload_queue()),
      memory_(memory),
      known_(std::move(known)),
      views_(device.host_views()) {
  // A driver may refuse one buffer over all of the memory; all drivers take pieces of a quarter of
  // the largest allocation.
  const std::size_t piece = std::clamp<std::size_t>(device.facts().max_allocation / 4,
                                                    std::size_t{1} << 28, std::size_t{1} << 32);
  const DriverCall inside(&device);
  try {
    for (std::size_t at = 0; at < memory.size(); at += piece) {
      const std::size_t size = std::min(piece, memory.size() - at);
      auto* data =
          const_cast<std::byte*>(memory.data()) + at;  // mapped for reading: never written through
      pieces_.push_back(
          {cl::Buffer(device.context(), CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, size, data),
           nullptr});
      cl::Event mapped;
      pieces_.back().second = queue_.enqueueMapBuffer(pieces_.back().first, CL_FALSE, CL_MAP_READ,
                                                      0, size, nullptr, &mapped);
      queue_.flush();
      wait_for_event(backend_, mapped, "device " + device.facts().id, backend_.limits().build);
    }
  } catch (...) {
    leak(std::move(pieces_));  // some may still be mapped
    throw;
  }
  known_->add(memory_);
  if (!views_) return;
  for (std::size_t k = 0; k < pieces_.size(); ++k) {
    const std::span rest = memory.subspan(k * piece);
    views_->add(rest.first(std::min(piece, rest.size())), pieces_[k].first);
  }
}

ClPinned::~ClPinned() {
  known_->remove(memory_);
  if (views_) views_->remove(memory_);
  auto unmap = [queue = std::move(queue_), pieces = std::move(pieces_)]() mutable {
    for (auto& [buffer, mapped] : pieces)
      clEnqueueUnmapMemObject(queue(), buffer(), mapped, 0, nullptr, nullptr);
    clFinish(queue());
    pieces.clear();
    queue = {};
  };
  try {
    driver_call("unpinning memory", backend_.limits().answer, {}, std::move(unmap));
  } catch (const Error&) {  // left behind
  }
}

}  // namespace mgpu
