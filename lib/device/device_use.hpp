// How busy a device is now, with all processes that use it.
#pragma once

#include <optional>

#include "lib/base/units.hpp"

namespace mgpu {

struct DeviceUse {
  // Busy share of the device's time, 0 to 1, and bytes of its memory in use; none: not reported.
  std::optional<double> utilisation;
  std::optional<Bytes> memory_used;
  bool any() const { return utilisation || memory_used; }
};

}  // namespace mgpu
