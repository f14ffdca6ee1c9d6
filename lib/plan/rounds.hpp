// Begins strategies for iterative work, whose state stays on the device that owns it, so that each
// device keeps one share for a whole sample.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "lib/plan/rebalancer.hpp"
#include "lib/plan/strategy.hpp"

namespace mgpu {

// Calls Strategy::begin. If the request has rounds, the source gives each device the share that the
// strategy set apart for it (SliceSource::first_shares), in one slice. Also throws
// Error(unsupported) for a strategy that hands out work piece by piece, and for a share that does
// not fit its device.
std::unique_ptr<SliceSource> begin_strategy(const StrategyInfo& strategy,
                                            const StrategyParams& params,
                                            const PlanRequest& request, const History& history);

// Makes a source with these shares, in the order of the devices and of the items. Each is one
// slice, whose ends may move between iterations. The sample fails if a device is lost, as no other
// device has its state.
std::unique_ptr<SliceSource> make_kept_shares(std::vector<Items> shares,
                                              std::optional<Rebalancer> rebalancer = {});

// Returns the slices of those shares; devices without a share have an empty slice.
std::vector<Slice> ranges_of(const std::vector<Items>& shares);

}  // namespace mgpu
