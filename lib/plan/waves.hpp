// Work that is larger than what the devices hold together goes round in waves: in each, every
// device gets what it holds.
#pragma once

#include <vector>

#include "lib/plan/slice_source.hpp"

namespace mgpu {

struct Waves {
  std::vector<Items> shares;  // per device, of all full waves
  Items left = 0;             // of the last one, which is not full
};

// What each device holds (lib/plan/cost_model.hpp, memory_holds), 0 for those that take no part.
// Where that is nothing for all of them, free memory says too little: then what fits.
std::vector<Items> held_by_each(const PlanRequest& request);

// `holds`: whole granules, or request.items, per device. Without any, everything is left.
Waves full_waves(const PlanRequest& request, const std::vector<Items>& holds);

// Shares of which one is not a multiple of the granularity: makes that the last of the range, as
// only its end may be.
void put_odd_items_last(const PlanRequest& request, std::vector<Items>& shares);

}  // namespace mgpu
