// Applies a handicap to a device's facts, and describes it for tables.
#include "lib/device/handicap.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/quantity.hpp"

namespace mgpu {

Device limited(Device device, const Handicap& handicap) {
  if (!handicap.memory_cap) return device;
  device.global_memory = std::min(device.global_memory, *handicap.memory_cap);
  device.max_allocation = std::min(device.max_allocation, *handicap.memory_cap);
  return device;
}

std::string in_words(const Handicap& handicap) {
  std::string words;
  const auto add = [&](const std::string& more) { words += (words.empty() ? "" : ", ") + more; };
  if (handicap.slows()) {
    std::string slow = fmt::format("kernels {} times as long", handicap.slow);
    if (handicap.slow_from_time) {
      slow += fmt::format(" from {} on", format_duration(*handicap.slow_from_time));
    } else if (handicap.slow_from_fraction > 0) {
      slow += fmt::format(" from {:.3g} % of the work on", handicap.slow_from_fraction * 100);
    }
    add(slow);
  }
  if (handicap.delay > Nanos{}) add(fmt::format("slices {} late", format_duration(handicap.delay)));
  if (handicap.memory_cap)
    add(fmt::format("memory {}", format_bytes(static_cast<double>(*handicap.memory_cap))));
  return words;
}

}  // namespace mgpu
