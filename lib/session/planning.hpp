// A plan without a run: the automatic choice for a problem, from cached calibrations. No kernel is
// executed and nothing is transferred.
#pragma once

#include <optional>
#include <string>

#include "lib/plan/choose.hpp"
#include "lib/plan/scenario.hpp"
#include "lib/profile/bottleneck.hpp"
#include "lib/session/options.hpp"

namespace mgpu {

struct PlannedCase {
  Mode mode = Mode::resident;
  PlanChoice choice;
  std::vector<Items> shares;  // by device; empty: not known before the sample
  ItemUnit unit;              // of the shares
  // Bottleneck of a simulated sample; "unknown" if it was not simulated.
  Bottleneck bottleneck;
  std::optional<Candidate> by_rule;  // rule_of_thumb
};

// Returns the id of the first device that plan_problem lacks figures of; nothing if it has all of
// them. The rate of a device of the same kind will do.
std::optional<std::string> first_uncalibrated(const SessionOptions& options);

// Returns the choice for the request with its shares and its bottleneck. Simulates at most 64
// devices: of more, the shares are those that the strategy fixes. Throws what choose_plan throws.
PlannedCase plan_case(const PlanRequest& request, const ItemUnit& unit);

// Returns the plan of the scenario's work on all of its devices. Throws what choose_plan throws.
PlannedCase plan_scenario(const Scenario& scenario, Mode mode);

// Returns one plan per mode of the options, for their first problem on all their devices, which
// their handicaps throttle; opens the devices to see how much they hold. A slow-down that begins
// later is not planned for. Throws Error(usage) naming a device that was not calibrated,
// or not for this suite; Error(unsupported) when the problem fits nowhere.
std::vector<PlannedCase> plan_problem(Backend& backend, const SessionOptions& options);

}  // namespace mgpu
