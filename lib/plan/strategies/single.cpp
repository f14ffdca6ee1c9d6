// single: everything on the device that is fastest alone; the base of every speed-up.
#include "lib/plan/ledger.hpp"
#include "lib/plan/static_source.hpp"
#include "lib/plan/strategy.hpp"

namespace mgpu {
namespace {

class Single final : public Strategy {
 public:
  // Greatest known rate first; a device whose rate is known beats one whose rate is not; then the score, then the lower index.
  std::unique_ptr<SliceSource> begin(const PlanRequest& request, const History&) const override {
    std::vector<Items> shares(request.devices.size(), 0);
    std::size_t best = shares.size();
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (slice_limit(request, request.devices[i].fits) == 0) continue;
      if (best == shares.size() || is_better(request.devices[i], request.devices[best])) best = i;
    }
    if (best != shares.size()) shares[best] = request.items;
    return make_static_source(request, shares);
  }

 private:
  static bool is_better(const DeviceEstimate& a, const DeviceEstimate& b) {
    if (a.items_per_s > 0 || b.items_per_s > 0) return a.items_per_s > b.items_per_s;
    return a.score > b.score;
  }
};

}  // namespace

StrategyInfo single_strategy() {
  return {"single", "everything on the device that is fastest alone", {}, [](const StrategyParams&) -> std::unique_ptr<Strategy> {
            return std::make_unique<Single>();
          }};
}

}  // namespace mgpu
