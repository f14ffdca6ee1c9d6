// proportional: shares by the static score, which distinguishes kinds of devices without measuring.
#include "lib/plan/static_source.hpp"
#include "lib/plan/strategy.hpp"

namespace mgpu {
namespace {

class Proportional final : public Strategy {
 public:
  std::unique_ptr<SliceSource> begin(const PlanRequest& request, const History&) const override {
    std::vector<double> weights;
    for (const DeviceEstimate& device : request.devices) weights.push_back(device.score);
    return make_static_source_by_weight(request, std::move(weights));
  }
};

}  // namespace

StrategyInfo proportional_strategy() {
  return {"proportional",
          "shares in proportion to the static score",
          {},
          [](const StrategyParams&) -> std::unique_ptr<Strategy> {
            return std::make_unique<Proportional>();
          },
          {.fixed_shares = true}};
}

}  // namespace mgpu
