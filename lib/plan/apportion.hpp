// Integer shares of a whole, in units of a granularity: largest remainder (Hamilton), so that
// shares differ from the ideal by less than one granule and add up exactly. Pure.
#pragma once

#include <span>
#include <vector>

#include "lib/base/units.hpp"

namespace mgpu {

// One share per weight; weights are finite and >= 0, and at least one is > 0, else Error(internal).
// Ties go to the lower index. All shares are multiples of `granularity`, but for the device that
// takes the end of the range (the last whose share is not 0), whose share holds the remainder items
// % granularity. Balance: |share_i - items * w_i / sum w| < granularity, for that device too.
std::vector<Items> apportion(Items items, Items granularity, std::span<const double> weights);

// The same with no share above its cap (whole granules of it): what a capped one cannot take goes
// to the others by their weights, and to those of weight 0 when nobody else is left.
// Error(internal) when the caps do not hold all items.
std::vector<Items> apportion_within(Items items, Items granularity, std::span<const double> weights,
                                    std::span<const Items> caps);

}  // namespace mgpu
