// Handicap: a device made worse on purpose, so that balancing can be studied and tested on equal devices.
#pragma once

#include <optional>

#include "lib/base/units.hpp"

namespace mgpu {

struct Handicap {
  double slow = 1;                      // its kernels take this many times as long; >= 1
  double slow_from_fraction = 0;        // from when this share of the sample's items is finished, by all devices ...
  std::optional<Nanos> slow_from_time;  // ... or from this time after the sample's begin
  Nanos delay{};                        // every slice starts computing this much later
  std::optional<Bytes> memory_cap;      // it has no more memory than this

  bool slows() const { return slow > 1; }
};

}  // namespace mgpu
