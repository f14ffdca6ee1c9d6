// The rule that decides when a case has enough samples. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>

#include "lib/base/units.hpp"

namespace mgpu {

struct StopRule {
  std::size_t exactly = 0;  // -n: number of samples, whatever they show; 0: the rule below
  std::size_t least = 10;
  std::size_t fewest = 3;  // samples even if they exceed most_time
  Nanos least_time = std::chrono::milliseconds(500);
  double half_width = 0.01;  // half of the 95 % interval of the median, relative to it
  Nanos most_time = std::chrono::seconds(5);  // per case, in samples alone
  // Largest number of samples: half a second of samples of a few microseconds would take minutes.
  std::size_t most = 5000;
  std::size_t warmup = 1;

  static StopRule quick();                        // 3 samples, 1 s
  static StopRule overview(std::size_t devices);  // 5 samples; together 1 s for a problem
  bool satisfied(std::span<const Nanos> samples) const;
  // Returns the limit of turns of a probe (ProbeSize::most_turns), so that the work before a few
  // short samples takes no longer than they do. 0: time is the only limit. One for one sample,
  // which has no statistics.
  std::size_t probe_turns() const { return exactly == 1 ? 1 : 3 * exactly; }
};

}  // namespace mgpu
