// --slow, --cap-memory and --delay: devices made worse on purpose. What a handicap means is in
// lib/device/handicap.hpp.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/settings.hpp"
#include "lib/device/handicap.hpp"
#include "lib/device/selection.hpp"

namespace mgpu {

// One DEV=VALUE of one of the options.
struct HandicapTerm {
  std::string option, device;  // for messages: "--slow", and DEV as written
  Selector devices;
  void (*set)(Handicap& to,
              const Handicap& from) = nullptr;  // the part of `value` this option is about
  Handicap value;
};

// Throws Error(usage), naming option, value and what is accepted; no device is needed for that.
std::vector<HandicapTerm> read_handicaps(const Settings& settings);

// The handicap of each of `devices`, the set a run works on: DEV is any term of --devices, a rank
// counts within the set. Where several terms of one option match a device the last one holds.
// Throws Error(usage) for a term that matches none.
std::vector<Handicap> handicaps_of(std::span<const HandicapTerm> terms,
                                   std::span<const Device> devices);

}  // namespace mgpu
