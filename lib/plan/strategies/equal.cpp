// equal: the same number of items on every device.
#include "lib/plan/static_source.hpp"
#include "lib/plan/strategy.hpp"

namespace mgpu {
namespace {

class Equal final : public Strategy {
 public:
  std::unique_ptr<SliceSource> begin(const PlanRequest& request, const History&) const override {
    PlanRequest alike = request;
    alike.merge.tree = false;  // shares stay equal, whatever uneven cuts cost the merge
    return make_static_source(
        request, shares_by_weight(alike, std::vector<double>(request.devices.size(), 1)));
  }
};

}  // namespace

StrategyInfo equal_strategy() {
  return {
      "equal",
      "the same number of items on every device",
      {},
      [](const StrategyParams&) -> std::unique_ptr<Strategy> { return std::make_unique<Equal>(); },
      {.fixed_shares = true, .equal_shares = true, .any_count = true}};
}

}  // namespace mgpu
