// Integer shares of a whole, in units of a granularity: largest remainder (Hamilton), so that shares differ from the ideal by
// less than one granule and add up exactly. Pure.
#pragma once

#include <span>
#include <vector>

#include "lib/base/units.hpp"

namespace mgpu {

// One share per weight; weights are >= 0 and at least one is > 0. Ties go to the lower index. All shares are multiples of
// `granularity`, but for the device that takes the end of the range, whose share holds the remainder items % granularity.
// Balance: |share_i - items * w_i / sum w| < granularity (+ the remainder for the device that takes the end).
std::vector<Items> apportion(Items items, Items granularity, std::span<const double> weights);

}  // namespace mgpu
