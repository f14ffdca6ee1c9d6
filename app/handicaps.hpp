// --slow, --cap-memory and --delay: devices made worse on purpose (throttles).
// lib/device/handicap.hpp defines their meaning.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/settings.hpp"
#include "lib/device/handicap.hpp"
#include "lib/device/selection.hpp"

namespace mgpu {

// One DEV=VALUE of one of these options.
struct HandicapTerm {
  std::string option, device;  // for messages: "--slow", and DEV as written
  Selector devices;
  // Copies the part of `value` that the option is about.
  void (*set)(Handicap& to, const Handicap& from) = nullptr;
  Handicap value;
};

// Reads the terms, without need of a device. Throws Error(usage), naming option, value and what is
// expected.
std::vector<HandicapTerm> read_handicaps(const Settings& settings);

// Returns the handicap of each of `devices`, the set of a run. DEV is any term of --devices; a rank
// counts within the set. If several terms of one option match a device, the last one applies.
// Throws Error(usage) for a term that matches none.
std::vector<Handicap> handicaps_of(std::span<const HandicapTerm> terms,
                                   std::span<const Device> devices);

}  // namespace mgpu
