// capability: shares by the measured rates of the devices. A device whose rate is not known gets
// one from its score.
#include "lib/plan/cost_model.hpp"
#include "lib/plan/static_source.hpp"
#include "lib/plan/strategy.hpp"

namespace mgpu {
namespace {

class ByCapability final : public Strategy {
 public:
  std::unique_ptr<SliceSource> begin(const PlanRequest& request, const History&) const override {
    return make_static_source_by_weight(request, estimated_speeds(request).rates);
  }
};

}  // namespace

StrategyInfo capability_strategy() {
  return {"capability",
          "shares in proportion to the measured rate",
          {},
          [](const StrategyParams&) -> std::unique_ptr<Strategy> {
            return std::make_unique<ByCapability>();
          },
          {.fixed_shares = true, .by_rate = true}};
}

}  // namespace mgpu
