#include "lib/session/roofline.hpp"

namespace mgpu {
namespace {

// Returns the ceiling of one device that does the whole problem.
std::optional<Ceiling> alone(const DeviceCeiling& device) {
  struct Kind {
    const char* name;
    double demand, rate;
  };
  const Capability& can = device.capability;
  const Demand& asks = device.demand;
  Ceiling slowest;
  for (const Kind& kind :
       {Kind{"fp32", asks.fp32, can.fp32_flops}, Kind{"fp64", asks.fp64, can.fp64_flops},
        Kind{"int32", asks.int32, can.int32_ops},
        Kind{"memory", asks.memory_bytes, can.memory_bytes_per_s}}) {
    if (!(kind.demand > 0)) continue;
    if (!(kind.rate > 0)) return std::nullopt;
    if (kind.demand / kind.rate > slowest.seconds) slowest = {kind.demand / kind.rate, kind.name};
  }
  if (!(slowest.seconds > 0)) return std::nullopt;
  return slowest;
}

}  // namespace

std::optional<Ceiling> ceiling_of(std::span<const DeviceCeiling> devices, const LinkCeiling& link) {
  double problems_per_s = 0;
  Ceiling fastest;
  for (const DeviceCeiling& device : devices) {
    const std::optional<Ceiling> mine = alone(device);
    if (!mine) return std::nullopt;
    problems_per_s += 1 / mine->seconds;
    if (fastest.kind.empty() || mine->seconds < fastest.seconds) fastest = *mine;
  }
  if (devices.empty()) return std::nullopt;
  Ceiling ceiling{1 / problems_per_s, fastest.kind, link};
  for (const auto& [bytes, rate] :
       {std::pair{link.bytes_up, link.up}, std::pair{link.bytes_down, link.down}}) {
    if (bytes > 0 && rate > 0 && bytes / rate > ceiling.seconds)
      ceiling = {bytes / rate, "host link", link};
  }
  return ceiling;
}

}  // namespace mgpu
