// The minimum time of a problem by the measured rates of the devices (the ceiling of the roofline);
// `roofline_fraction` is this time divided by that of a sample. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/device/capability.hpp"

namespace mgpu {

struct DeviceCeiling {
  Capability capability;  // all 0: not calibrated
  Demand demand;          // of the whole problem
};

struct Ceiling {
  double seconds = 0;
  std::string kind;  // the limiting resource: "fp32", "fp64", "int32", "memory", "host link"
  LinkCeiling link{};
};

// Returns the ceiling of devices that share the problem so that all end together; each is limited
// by the resource that takes it longest. Transfers can overlap with compute, so that the longer of
// both counts. None without devices, and if one has no demand, or no figure for a resource.
std::optional<Ceiling> ceiling_of(std::span<const DeviceCeiling> devices, const LinkCeiling& link);

}  // namespace mgpu
