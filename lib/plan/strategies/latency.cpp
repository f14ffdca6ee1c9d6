// latency: the shares, the sizes of pieces and the number of devices with which the sample ends
// soonest, including launches, transfers, the shared host link and the merge
// (lib/plan/completion.hpp). Without any known rate there is no time to weigh: shares are then
// those of `capability`.
#include <algorithm>
#include <cmath>
#include <span>

#include "lib/plan/completion.hpp"
#include "lib/plan/cost_model.hpp"
#include "lib/plan/even_pieces.hpp"
#include "lib/plan/ledger.hpp"
#include "lib/plan/static_source.hpp"
#include "lib/plan/strategy.hpp"

namespace mgpu {
namespace {

class Latency final : public Strategy {
 public:
  std::unique_ptr<SliceSource> begin(const PlanRequest& request, const History&) const override {
    const Speeds speeds = estimated_speeds(request);
    if (!speeds.timed || request.items == 0)
      return make_static_source_by_weight(request, speeds.rates);
    const CompletionPlan plan = least_completion(request, speeds.rates);
    const std::vector<Items> shares = shares_by_weight(request, plan.items);
    std::vector<DeviceEstimate> devices(request.devices.begin(), request.devices.end());
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (shares[i] == 0 || plan.pieces[i] < 1) continue;
      const Items most = devices[i].pipeline > 0 ? devices[i].pipeline : devices[i].fits;
      auto pieces = static_cast<Items>(plan.pieces[i]);
      // If the number of pieces follows only from `pipeline`, it is computed again for the share as
      // it was cut, which may have a few items less.
      if (pieces == pieces_of(static_cast<Items>(std::ceil(plan.items[i])), most))
        pieces = pieces_of(shares[i], most);
      devices[i].pipeline =
          std::min(round_up(ceil_div(shares[i], pieces), request.granularity), devices[i].fits);
    }
    PlanRequest in_pieces = request;
    in_pieces.devices = devices;
    return make_static_source(in_pieces, shares);
  }
};

}  // namespace

StrategyInfo latency_strategy() {
  return {"latency",
          "the split predicted to end soonest, given launches, transfers and the shared link",
          {},
          [](const StrategyParams&) -> std::unique_ptr<Strategy> {
            return std::make_unique<Latency>();
          },
          {.fixed_shares = true,
           .by_rate = true,
           .any_count = true,
           .seconds = [](const PlanRequest& request, std::span<const double> rates) {
             return least_completion(request, {rates.begin(), rates.end()}).seconds;
           }}};
}

}  // namespace mgpu
