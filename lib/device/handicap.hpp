// Handicap: a device made worse on purpose, so that balancing can be studied and tested on equal
// devices. How a backend does it is in lib/exec/slow_down.hpp.
#pragma once

#include <optional>
#include <string>

#include "lib/base/units.hpp"
#include "lib/device/device.hpp"

namespace mgpu {

struct Handicap {
  double slow = 1;                // its kernels take this many times as long; >= 1
  double slow_from_fraction = 0;  // from when this share of the sample's items is finished by all,
                                  // or of rounds by itself ...
  std::optional<Nanos> slow_from_time;  // ... or from this time after the sample's begin
  Nanos delay{};                        // every slice starts computing this much later
  std::optional<Bytes> memory_cap;      // it has no more memory than this

  bool slows() const { return slow > 1; }
  bool slows_always() const {
    return slows() && slow_from_fraction <= 0 && !slow_from_time;
  }                                                          // in samples and outside
  bool holds() const { return slows() || delay > Nanos{}; }  // it stops between kernels
  bool any() const { return holds() || memory_cap.has_value(); }
};

// What the device says of itself under a handicap: no more memory than the cap.
Device limited(Device device, const Handicap& handicap);

// "kernels 2.5 times as long from 50 % of the work on, slices 1.00 ms late, memory 512 MiB"; empty
// when there is none.
std::string in_words(const Handicap& handicap);

}  // namespace mgpu
