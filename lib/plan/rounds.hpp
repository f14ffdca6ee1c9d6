// Work that goes in rounds: state stays on the device that owns it, so that each keeps one share
// for a whole sample.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "lib/plan/borders.hpp"
#include "lib/plan/strategy.hpp"

namespace mgpu {

// Strategy::begin. Where the request has rounds, what the source gives each device is what the
// strategy set apart for it (SliceSource::first_shares), in one slice. Throws Error(unsupported)
// also for a strategy that hands out work piece by piece, and for a share that does not fit its
// device.
std::unique_ptr<SliceSource> begin_strategy(const StrategyInfo& strategy,
                                            const StrategyParams& params,
                                            const PlanRequest& request, const History& history);

// These shares, in the order of the devices and of the items; each comes as one slice, whose
// borders may move between rounds. What a device had is lost with it: nobody else has its state,
// and the sample is over.
std::unique_ptr<SliceSource> make_kept_shares(std::vector<Items> shares,
                                              std::optional<Borders> borders = {});

// The slices of those shares; devices without one have an empty slice.
std::vector<Slice> ranges_of(const std::vector<Items>& shares);

}  // namespace mgpu
