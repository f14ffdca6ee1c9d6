// Handicap: throttles a device on purpose, so that balancing can be studied and tested on equal
// devices. How a backend does it is in lib/exec/slow_down.hpp.
#pragma once

#include <optional>
#include <string>

#include "lib/base/units.hpp"
#include "lib/device/device.hpp"

namespace mgpu {

struct Handicap {
  double slow = 1;  // factor by which its kernels take longer; >= 1
  // Fraction of the work from which it is slow: of the sample's items, finished by all devices,
  // or of an iterative sample's iterations, finished by this one ...
  double slow_from_fraction = 0;
  // ... or time after the sample's begin from which it is slow.
  std::optional<Nanos> slow_from_time;
  Nanos delay{};                    // delay before every slice starts computing
  std::optional<Bytes> memory_cap;  // upper bound of its memory
  // Whether freed memory is kept for later buffers of the same size, within that bound
  // (--memory-pool). Slows nothing, and is no reason to name the device as throttled.
  bool keeps_freed = false;

  bool slows() const { return slow > 1; }
  // Returns whether it slows in samples and outside, from the begin.
  bool slows_always() const { return slows() && slow_from_fraction <= 0 && !slow_from_time; }
  bool stalls() const { return slows() || delay > Nanos{}; }  // it stops between kernels
  bool any() const { return stalls() || memory_cap.has_value(); }
};

// Returns what the device reports under a handicap: at most the capped memory.
Device limited(Device device, const Handicap& handicap);

// Returns a description such as "kernels 2.5 times as long from 50 % of the work on, slices 1.00 ms
// late, memory 512 MiB"; empty if there is no handicap.
std::string in_words(const Handicap& handicap);

}  // namespace mgpu
