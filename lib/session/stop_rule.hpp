// When a case has samples enough. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>

#include "lib/base/units.hpp"

namespace mgpu {

struct StopRule {
  std::size_t exactly = 0;  // -n: this many samples, whatever they show; 0: the rule below
  std::size_t least = 10;
  Nanos least_time = std::chrono::milliseconds(500);
  double half_width = 0.01;                   // of the 95 % interval of the median, relative to it
  Nanos most_time = std::chrono::seconds(5);  // a case, by its samples alone
  std::size_t most =
      5000;  // samples: half a second of samples of a few microseconds would take minutes
  std::size_t warmup = 1;

  static StopRule quick();  // 3 samples, 1 s
  bool satisfied(std::span<const Nanos> samples) const;
  // Enough for a probe: what comes before a few short samples takes no longer than they tell. 0: as
  // many as there is time for. One for one sample, which no statistic is made of.
  std::size_t probe_turns() const { return exactly == 1 ? 1 : 3 * exactly; }
};

}  // namespace mgpu
