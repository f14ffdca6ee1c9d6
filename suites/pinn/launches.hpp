// How steps are launched, on whatever they train.
#pragma once

#include "lib/workload/stream.hpp"

namespace mgpu::pinn {

inline constexpr Bytes kNumber = sizeof(float);
constexpr Bytes in_pieces(std::uint64_t numbers) {  // of 16 bytes, as kernels/copy_part.cl has them
  return (numbers * kNumber + 15) / 16 * 16;
}

// Steps that are one command of the timeline, and that many launches. On an H200 a time stamp for
// each, which the host needs, takes 12 us, as long as a step of a small network.
inline constexpr std::uint32_t kSeries = 64;
// Kernels of large networks are worth a look one by one, but not those of ten thousand steps: their
// twelve time stamps a step are 140 us of the host of an H200, more than a device takes for the few
// shards of a probe.
inline constexpr std::uint32_t kLookedAt = 256;

// A work-item for each of `items`, in groups of `local`.
inline Grid grid_of(std::uint64_t items, std::size_t local) {
  return {{(items + local - 1) / local * local, 1, 1}, {local, 1, 1}};
}

}  // namespace mgpu::pinn
