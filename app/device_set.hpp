// Which devices a command works on: the selection of -d, sub-devices and caps, over what a backend
// enumerates.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/commands.hpp"

namespace mgpu {

// How many sub-devices a CPU is split into at most where no number is given.
constexpr std::uint32_t kMostDefaultParts = 8;

struct DeviceSet {
  std::vector<Device> devices;    // in the order of the selection; never empty
  std::optional<Device> reserve;  // a CPU, where none is among them: should none of them be left
  std::vector<std::string> warnings;
};

// Reads the settings devices, sub-devices, max-devices and strict. Without `devices`: all GPUs,
// else all CPUs, where a lone CPU of several cores becomes one sub-device per core, at most 8
// (several CPUs, as POCL_DEVICES="pthread pthread" makes them, are left whole: each already uses
// all cores). A selector that names a sub-device (0:0.1) selects among the parts that --sub-devices
// makes. Throws Error(usage) for a malformed value, under --strict also for a term that matches
// nothing; Error(no_device), with what was looked at, when nothing is left; where only GPUs were
// asked for and there is none, with the command line that works instead.
DeviceSet choose_devices(Backend& backend, const Context& context);

// All devices as they are, for a list. Throws Error(no_device) when there is none.
DeviceSet every_device(Backend& backend, const Environment& environment);

// A count option; `standard` when it was not given. Throws Error(usage) below `least`.
std::uint64_t count_setting(const Settings& settings, std::string_view name, std::uint64_t least,
                            std::uint64_t standard);

}  // namespace mgpu
