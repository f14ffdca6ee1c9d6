// Chooses a strategy and the number of devices automatically. Every candidate is simulated with the
// estimates; nothing runs. `-s auto` is a strategy that begins the chosen one; `mgpu-bench plan`
// prints the choice.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/plan/strategy.hpp"

namespace mgpu {

struct Candidate {
  const StrategyInfo* strategy = nullptr;  // with default parameters
  std::size_t devices = 0;                 // number of devices: the fastest of the set
  Nanos predicted{};
  double joules = 0;  // of these devices; 0: their power is not known
};

struct PlanChoice {
  Candidate chosen;
  std::vector<bool> uses;             // by device of the request
  std::vector<Candidate> considered;  // best first
  std::vector<std::string> reasons;   // for people, one sentence each
};

// Chooses the candidate of least predicted time, or of what the objective is: "time" in the
// following. Devices are then taken in the order of their rate per power. The closed forms of
// lib/plan/completion.hpp say how many of the fastest devices are worth their start, N. Candidates
// are the fastest device alone, every strategy of the table on N devices, and `latency` and
// `equal`, which bracket what the others could reach, on N - 1, N + 1 and all devices. Of more than
// 64 devices only strategies with fixed shares are candidates, on N and all devices, and closed
// forms predict them: simulating 1,024 takes from 40 ms to seconds. Of strategies within 3 % of the
// least time (predictions are no more accurate) on the same number of devices, the first one in the
// table is chosen. Fewer devices are chosen only if they are predicted to take no longer. Devices
// with `reserve` are left out unless there are no others. No candidate has fewer than `least`
// devices, if there are so many. Throws Error(usage) if a device's rate is not known,
// Error(unsupported) if no candidate can place the work.
PlanChoice choose_plan(const PlanRequest& request, std::size_t least = 1);

// Returns a rule of thumb's choice, to compare with: one device per 10,000 units of the work, at
// least one and at most four, with equal shares. None if they cannot place the work. Throws what
// choose_plan throws.
std::optional<Candidate> rule_of_thumb(const PlanRequest& request, std::uint64_t units);

// Begins the chosen strategy for the request that it was chosen for. Throws what Strategy::begin
// throws.
std::unique_ptr<SliceSource> begin_chosen(const PlanChoice& choice, const PlanRequest& request,
                                          const History& history);

// Returns the devices as the chosen plan sees them: those that it does not use can be given
// nothing.
std::vector<DeviceEstimate> devices_of_choice(const PlanChoice& choice, const PlanRequest& request);

// Returns the fewest devices that `auto` with these parameters chooses.
std::size_t fewest_devices(const StrategyParams& params);

// Returns the strategy `auto`. It is not in the table, as it would choose itself.
const StrategyInfo& auto_strategy();

}  // namespace mgpu
