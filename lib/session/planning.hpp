// A plan without a run: the automatic choice for a problem, from cached calibrations. No kernel is
// executed and nothing is transferred.
#pragma once

#include <optional>
#include <string>

#include "lib/plan/choose.hpp"
#include "lib/session/options.hpp"

namespace mgpu {

struct PlannedCase {
  Mode mode = Mode::resident;
  std::vector<DeviceEstimate> devices;
  PlanChoice choice;
};

struct Uncalibrated {
  std::string device;             // its id
  bool lacks_capability = false;  // else it only lacks the rate of the problem
};

// Returns the first device that plan_problem lacks figures of; nothing if it has all of them. The
// rate of a device of the same kind will do.
std::optional<Uncalibrated> first_uncalibrated(const SessionOptions& options);

// Returns one plan per mode of the options, for their first problem on all their devices; opens the
// devices to see how much they hold. Throws Error(usage) naming a device that was not calibrated,
// or not for this problem; Error(unsupported) when the problem fits nowhere.
std::vector<PlannedCase> plan_problem(Backend& backend, const SessionOptions& options);

}  // namespace mgpu
