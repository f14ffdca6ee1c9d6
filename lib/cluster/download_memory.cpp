#include "lib/cluster/download_memory.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "lib/base/error.hpp"

namespace mgpu {
namespace {

// Shortest area for which pinning is worth its time.
constexpr std::size_t kShortestPinned = std::size_t{1} << 16;
constexpr std::size_t kMostPinned = std::size_t{1} << 28;

}  // namespace

DownloadMemory::Area DownloadMemory::take(std::size_t bytes) {
  // The smallest area that is large enough is taken, unless most of it would be idle.
  auto best = kept_.end();
  for (auto at = kept_.begin(); at != kept_.end(); ++at) {
    if (at->size_ < bytes || at->size_ / 2 > bytes) continue;
    if (best == kept_.end() || at->size_ < best->size_) best = at;
  }
  Area area;
  if (bytes >= kShortestPinned && best != kept_.end()) {
    area = std::move(*best);
    kept_.erase(best);
    bytes_ -= area.size_;
  } else {
    area.size_ = bytes >= kShortestPinned ? std::bit_ceil(bytes) : bytes;
    area.memory_.reset(new std::byte[area.size_]);
    if (bytes >= kShortestPinned) pin(area);
  }
  area.used_ = bytes;
  return area;
}

void DownloadMemory::pin(Area& area) {
  const std::array<OpenDevice*, 1> only{&device_};
  try {
    area.pinned_ = backend_.pin({area.memory_.get(), area.size_}, only);
  } catch (const Error&) {  // downloads are only slower then
  }
}

void DownloadMemory::give_back(Area area) {
  if (area.size_ < kShortestPinned || bytes_ + area.size_ > kMostPinned) return;
  bytes_ += area.size_;
  kept_.push_back(std::move(area));
}

}  // namespace mgpu
