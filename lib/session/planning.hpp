// A plan without a run: the automatic choice for a problem, from cached calibrations. No kernel is
// executed and nothing is transferred.
#pragma once

#include "lib/plan/choose.hpp"
#include "lib/session/options.hpp"

namespace mgpu {

struct PlannedCase {
  Mode mode = Mode::resident;
  std::vector<DeviceEstimate> devices;
  PlanChoice choice;
};

// Returns one plan per mode of the options, for their first problem on all their devices; opens the
// devices to see how much they hold. Throws Error(usage) naming a device that was not calibrated,
// or not for this suite; Error(unsupported) when the problem fits nowhere.
std::vector<PlannedCase> plan_problem(Backend& backend, const SessionOptions& options);

}  // namespace mgpu
