// Were two results measured on the same machine in the same state? A ratio between two machines is
// not a regression.
#pragma once

#include <string>
#include <vector>

#include "lib/report/record.hpp"

namespace mgpu {

struct EnvironmentDifference {
  std::string what;         // "cpu", "device 0:1 driver_version"
  std::string base, fresh;  // "-": not there
  bool decisive =
      false;  // it changes what is measured: such results are not compared unless asked to
};

// Decisive are: the devices (number, name, type, driver, platform, units, handicap), the host, the
// CPU and the cores that may be used, variables that reconfigure devices, measured or simulated,
// and settings of devices as kSettingTable has it. Only noted are kernel, os, memory and which
// cores may be used, which change on one machine.
std::vector<EnvironmentDifference> environment_differences(const Report& base, const Report& fresh);

// "cpu: Xeon 8375C -> EPYC 7763"
std::string to_string(const EnvironmentDifference& difference);

}  // namespace mgpu
