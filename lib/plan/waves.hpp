// Splits work that exceeds the devices' total memory into waves: in each, every device gets what it
// has memory for.
#pragma once

#include <vector>

#include "lib/plan/slice_source.hpp"

namespace mgpu {

struct Waves {
  std::vector<Items> shares;  // per device, in all full waves together
  Items left = 0;             // items of the last wave, which is not full
};

// Returns the items that each device has memory for (lib/plan/cost_model.hpp, memory_holds), 0 for
// devices that take no part. If that is 0 for all of them, free memory is not a useful limit, and
// `fits` is used.
std::vector<Items> held_by_each(const PlanRequest& request);

// `holds`: whole granules, or request.items, per device. If all are 0, everything is left.
Waves full_waves(const PlanRequest& request, const std::vector<Items>& holds);

// Moves the share that is not a multiple of the granularity to the end of the range, the only place
// where it may be.
void put_odd_items_last(const PlanRequest& request, std::vector<Items>& shares);

}  // namespace mgpu
