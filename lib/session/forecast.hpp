// What a strategy is given about a case before its first sample, made of probes, and what is predicted from it.
#pragma once

#include <span>

#include "lib/session/group.hpp"

namespace mgpu {

// Of a device alone: `single`.
const StrategyChoice& strategy_of(const Case& the_case);

// What is known, before probes, of a device that is one of `count` at work in a set of `all`, for a workload that expects so many.
// `capability` as calibrated, `rate` at the reference size; null: not known.
KnownCosts known_costs(const SessionDevice& device, const Capability* capability, const SuiteRate* rate, const Workload& workload,
                       Mode mode, std::size_t count, std::size_t all);

// Fills the case's estimates. Rates are as `together`, the probe of the case's devices at work at once, saw them; a device's own
// link is as it is alone. What they share is as probed, which depends on where this memory lies, and no more than calibrated.
// `given` (null: nothing is) wins over what was probed.
void estimate_case(Case& the_case, const Probe& together, Workload& workload, Mode mode, std::span<const SessionDevice> devices,
                   std::span<const Prepared> prepared, const Calibration& calibration, const SetEstimates* given);

// What devices, and fewer of them, carry over the link they share, where all at once were seen to carry `together` and each alone
// `own`, bytes/s (0: no limit); no more than calibrated. How it grows with their number is as calibrated; where that is not known,
// what each gets of its own shrinks in a straight line, and no fewer carry more than all.
LinkRate link_of(double together, std::vector<double> own, const LinkRate& calibrated);

// The first of those that take least an item: it merges where a device does.
DeviceIndex fastest_of(std::span<const DeviceEstimate> estimates);

// Views of the case's estimates: the case must live as long.
PlanRequest request_of(const Case& the_case, const Workload& workload, Mode mode);

// Of `auto`: what it will run. Without a rate of every device there is no choice.
void choose_case(Case& the_case, const Workload& workload, Mode mode);

// Of the case's next sample: as chosen, if it was; else as its strategy begins. Throws as Strategy::begin.
std::unique_ptr<SliceSource> begin_case(const Case& the_case, const PlanRequest& request);

// With the source that will run, before it does. Without a rate of every device there is no prediction.
void predict_case(Case& the_case, const Workload& workload, Mode mode);

}  // namespace mgpu
