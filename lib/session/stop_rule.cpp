#include "lib/session/stop_rule.hpp"

#include <algorithm>
#include <bit>

#include "lib/base/stats.hpp"

namespace mgpu {

StopRule StopRule::quick() {
  StopRule rule;
  rule.least = 3;
  rule.least_time = Nanos{};
  rule.most_time = std::chrono::seconds(1);
  return rule;
}

StopRule StopRule::overview(std::size_t devices) {
  StopRule rule;
  rule.least = rule.fewest = 5;
  rule.least_time = Nanos{};
  rule.most_time = Nanos{std::chrono::seconds(1)} / (devices + 2);  // each alone, two strategies
  return rule;
}

bool StopRule::satisfied(std::span<const Nanos> samples) const {
  if (exactly > 0) return samples.size() >= exactly;
  Nanos spent{};
  for (const Nanos sample : samples) spent += sample;
  if (samples.size() < fewest) return false;
  if (spent >= most_time || samples.size() >= most) return true;
  if (samples.size() < least || spent < least_time) return false;
  // An interval takes a sort of all samples: beyond 64 samples it is computed only at some counts,
  // so that at most 1/32 too many are taken.
  const std::size_t step = std::max<std::size_t>(1, std::bit_floor(samples.size()) / 32);
  if (samples.size() % step != 0) return false;
  const Summary summary = summarise(samples);
  const double half = seconds(summary.ci95_high - summary.ci95_low) / 2;
  return half <= half_width * seconds(summary.median);
}

}  // namespace mgpu
