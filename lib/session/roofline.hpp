// The minimum time of a problem by the measured rates of the devices (the ceiling of the roofline);
// `roofline_fraction` is this time divided by that of a sample. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/device/capability.hpp"
#include "lib/workload/workload.hpp"

namespace mgpu {

struct DeviceCeiling {
  Capability capability;
  Demand demand;  // of the whole problem
};

struct Ceiling {
  double seconds = 0;
  std::string kind;  // the limiting resource: "fp32", "fp64", "int32", "memory", "host link"
};

// Bytes of a sample that cross the host link, for all devices together, and the rates of the link;
// 0: nothing, or not known.
struct LinkCeiling {
  double bytes_up = 0, bytes_down = 0, up = 0, down = 0;
};

// Returns the ceiling of devices that share the problem so that all end together; each is limited
// by the resource that takes it longest. Transfers can overlap with compute, so that the longer of
// both counts. None without devices, and if one has no demand, or no figure for a resource.
std::optional<Ceiling> ceiling_of(std::span<const DeviceCeiling> devices, const LinkCeiling& link);

}  // namespace mgpu
