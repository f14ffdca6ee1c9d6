// The minimum time of a problem by the measured rates of the devices: `roofline_fraction` is the
// fraction of a sample that this is. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/device/capability.hpp"
#include "lib/workload/workload.hpp"

namespace mgpu {

struct DeviceRoof {
  Capability capability;
  Demand demand;  // of the whole problem
};

struct Roof {
  double seconds = 0;
  std::string kind;  // what decides it: "fp32", "fp64", "int32", "memory", "host link"
};

// Bytes of a sample that cross the host link, for all devices together, and what it carries in all;
// 0: nothing, or not known.
struct LinkRoof {
  double bytes_up = 0, bytes_down = 0, up = 0, down = 0;
};

// Of devices that share the problem so that all end together; for each the kind that it is slowest
// at decides. Transfers can hide under compute, so that the longer of both counts. None without
// devices, and where one has no demand, or no figure for its kind.
std::optional<Roof> roof_of(std::span<const DeviceRoof> devices, const LinkRoof& link);

}  // namespace mgpu
