// The automatic choice: which strategy, on how many of the devices. Every candidate is simulated
// with the estimates; nothing runs.
// `-s auto` is a strategy that begins the chosen one; `mgpu-bench plan` prints the choice.
#pragma once

#include <string>
#include <vector>

#include "lib/plan/strategy.hpp"

namespace mgpu {

struct Candidate {
  const StrategyInfo* strategy = nullptr;  // with its default parameters
  std::size_t devices = 0;                 // the fastest so many of the set
  Nanos predicted{};
};

struct PlanChoice {
  Candidate chosen;
  std::vector<bool> uses;             // per device of the request
  std::vector<Candidate> considered;  // best first
  std::vector<std::string> reasons;   // for a person, one sentence each
};

// How many of the fastest devices are worth their start, the closed forms of
// lib/plan/completion.hpp say. Candidates: the fastest device alone, every strategy of the table on
// that many, and on one fewer, one more and all of them `latency` and `equal`, which bracket what
// the others could reach. Of more than 64 devices only strategies with fixed shares are candidates,
// on that many and all, and closed forms predict them: to simulate 1,024 takes from 40 ms to
// seconds. The least predicted time wins; of strategies within 3 % of it (predictions are no better
// than that) on as many devices the one that comes first in the table. On fewer devices only where
// that is predicted to take no longer. Devices with `reserve` are left out unless they are all
// there is. Throws Error(usage) when a device's rate is not known, Error(unsupported) when no
// candidate can place the work.
PlanChoice choose_plan(const PlanRequest& request);

// What was chosen, begun for the request that it was chosen for. Throws as Strategy::begin.
std::unique_ptr<SliceSource> begin_chosen(const PlanChoice& choice, const PlanRequest& request,
                                          const History& history);

// The devices as that plan sees them: those that it does not use can be given nothing.
std::vector<DeviceEstimate> devices_of_choice(const PlanChoice& choice, const PlanRequest& request);

// The strategy `auto`: not in the table, as it would choose itself.
const StrategyInfo& auto_strategy();

}  // namespace mgpu
