// Strong integer ids, so that a position in a device set cannot be passed where a count is meant.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace mgpu {

// Position of a device in the set a run was given: 0 .. n-1, best device first.
struct DeviceIndex {
  std::uint32_t value = 0;
  constexpr auto operator<=>(const DeviceIndex&) const = default;
};

}  // namespace mgpu
