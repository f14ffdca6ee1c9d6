// Strong integer ids, so that a position in a device set cannot be passed where a count is meant.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace mgpu {

// Position of a device among those that share a sample: 0 .. n-1. Plans, the executor, samples and
// timelines count so; positions in the session's list of devices, of which a case takes some, are
// plain numbers. (On the fake backend: among its devices.)
struct DeviceIndex {
  std::uint32_t value = 0;
  constexpr auto operator<=>(const DeviceIndex&) const = default;
};

}  // namespace mgpu
