#include "lib/measure/calibration_parts.hpp"

#include <algorithm>
#include <thread>

#include "lib/workload/parallel_for.hpp"

namespace mgpu {

Bytes transfer_piece(const DeviceTraits& traits) {
  return std::min(Bytes{traits.cpu ? 32u : 64u} << 20, traits.max_allocation);
}

HostMemory::HostMemory(Backend& backend, Bytes size, std::span<OpenDevice* const> devices,
                       bool pinned)
    : pages_(size, "transfers"), bytes_(pages_.data(), size) {
  constexpr Bytes at_once = Bytes{1} << 20;
  parallel_for((size + at_once - 1) / at_once, std::thread::hardware_concurrency(),
               [&](std::uint64_t chunk) {
                 const auto mine = bytes_.subspan(chunk * at_once);
                 std::fill_n(mine.begin(), std::min<Bytes>(at_once, mine.size()), std::byte{1});
               });
  if (pinned) pin_ = backend.pin(bytes_, devices);
}

}  // namespace mgpu
