// sequential: fills one device before it uses the next, best first: as few devices as have memory
// for the work.
#include <algorithm>
#include <cmath>

#include "lib/plan/ledger.hpp"
#include "lib/plan/static_source.hpp"
#include "lib/plan/strategy.hpp"
#include "lib/plan/waves.hpp"

namespace mgpu {
namespace {

class Sequential final : public Strategy {
 public:
  explicit Sequential(double fill) : fill_(fill) {}
  std::unique_ptr<SliceSource> begin(const PlanRequest& request, const History&) const override {
    std::vector<Items> holds = held_by_each(request);
    for (Items& items : holds) items = filled(request, items);
    Waves waves = full_waves(request, holds);
    for (std::size_t i = 0; i < holds.size(); ++i) {
      const Items more = std::min(waves.left, holds[i]);
      waves.shares[i] += more;
      waves.left -= more;
    }
    put_odd_items_last(request, waves.shares);
    return make_static_source(request, waves.shares);
  }

 private:
  Items filled(const PlanRequest& request, Items holds) const {
    if (fill_ >= 1 || holds == 0) return holds;
    const auto items = static_cast<Items>(std::floor(static_cast<double>(holds) * fill_));
    return std::min(holds, std::max(round_down(items, request.granularity), request.granularity));
  }

  double fill_;
};

}  // namespace

StrategyInfo sequential_strategy() {
  return {"sequential",
          "fills one device before the next is used",
          {{"fill", 1, 0.01, 1, "share of what a device's memory holds that counts as full"}},
          [](const StrategyParams& params) -> std::unique_ptr<Strategy> {
            return std::make_unique<Sequential>(params.at("fill"));
          },
          {.fixed_shares = true}};
}

}  // namespace mgpu
