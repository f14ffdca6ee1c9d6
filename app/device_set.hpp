// The devices of a command: -d, sub-devices and caps applied to what a backend enumerates.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/commands.hpp"

namespace mgpu {

// Largest number of sub-devices that a CPU is split into if no number is given.
constexpr std::uint32_t kMostDefaultParts = 8;

struct DeviceSet {
  std::vector<Device> devices;  // in the order of the selection; never empty
  // A CPU to use if all of `devices` fail; none if one of them is a CPU.
  std::optional<Device> reserve;
  std::vector<std::string> warnings;
};

// Chooses devices by the settings devices, sub-devices, max-devices and strict. Without `devices`:
// all GPUs, else all CPUs, where a lone CPU of several cores becomes one sub-device per core, at
// most 8 (several CPUs, as POCL_DEVICES="pthread pthread" makes them, are left whole: each already
// uses all cores). A selector that names a sub-device (0:0.1) selects among the parts that
// --sub-devices makes. Throws Error(usage) for a malformed value, under --strict also for a term
// that matches nothing. Throws Error(no_device), with what was looked at, if no device is left; if
// only GPUs were asked for and there is none, with a command line that works.
DeviceSet choose_devices(Backend& backend, const Context& context);

// Returns all devices unsplit, for a list. Throws Error(no_device) when there is none.
DeviceSet every_device(Backend& backend, const Environment& environment);

// Returns the value of a count option, or `standard` if it was not given. Throws Error(usage) below
// `least`.
std::uint64_t count_setting(const Settings& settings, std::string_view name, std::uint64_t least,
                            std::uint64_t standard);

}  // namespace mgpu
