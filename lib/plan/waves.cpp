// Implements waves.
#include "lib/plan/waves.hpp"

#include <algorithm>

#include "lib/plan/cost_model.hpp"
#include "lib/plan/ledger.hpp"

namespace mgpu {

std::vector<Items> held_by_each(const PlanRequest& request) {
  const std::vector<bool> takes_part = taking_part(request);
  const auto collect = [&](auto holds) {
    std::vector<Items> all;
    for (std::size_t i = 0; i < takes_part.size(); ++i)
      all.push_back(takes_part[i] ? holds(request.devices[i]) : 0);
    return all;
  };
  std::vector<Items> all =
      collect([&](const DeviceEstimate& device) { return memory_holds(request, device); });
  if (std::any_of(all.begin(), all.end(), [](Items items) { return items > 0; })) return all;
  return collect([&](const DeviceEstimate& device) {
    const Items limit = slice_limit(request, device.fits);
    return limit == request.items ? limit : round_down(limit, request.granularity);
  });
}

Waves full_waves(const PlanRequest& request, const std::vector<Items>& holds) {
  Waves waves{std::vector<Items>(holds.size(), 0), request.items};
  Items together = 0;
  for (const Items items : holds) {
    if (items >= request.items - together) return waves;  // one wave is enough
    together += items;
  }
  if (together == 0) return waves;
  const Items full = request.items / together;
  for (std::size_t i = 0; i < holds.size(); ++i) waves.shares[i] = full * holds[i];
  waves.left = request.items - full * together;
  return waves;
}

void put_odd_items_last(const PlanRequest& request, std::vector<Items>& shares) {
  const auto is_odd = [&](Items share) { return share % request.granularity != 0; };
  const auto odd = std::find_if(shares.begin(), shares.end(), is_odd);
  if (odd == shares.end()) return;
  const auto last =
      std::find_if(shares.rbegin(), shares.rend(), [](Items share) { return share > 0; });
  const Items missing = request.granularity - *odd % request.granularity;
  *odd += missing;
  *last -= missing;
}

}  // namespace mgpu
