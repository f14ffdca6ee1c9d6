// Integer shares of a whole, in units of a granularity: largest remainder (Hamilton), so that
// shares differ from the ideal by less than one granule and add up exactly. Pure.
#pragma once

#include <span>
#include <vector>

#include "lib/base/units.hpp"

namespace mgpu {

// Returns one share per weight. Weights are finite and >= 0, and at least one is > 0, else
// Error(internal). Ties go to the lower index. All shares are multiples of `granularity`, except
// that of the last device with a share, which includes the remainder items % granularity. Balance:
// |share_i - items * w_i / sum w| < granularity, also for that device.
std::vector<Items> apportion(Items items, Items granularity, std::span<const double> weights);

// Does the same with no share above its cap (whole granules of it). What a capped device cannot
// take goes to the others by their weights, and to those of weight 0 if no others are left. Throws
// Error(internal) if the caps are too small for all items.
std::vector<Items> apportion_within(Items items, Items granularity, std::span<const double> weights,
                                    std::span<const Items> caps);

}  // namespace mgpu
