// memory: shares by free memory, at most what a device has memory for; work that exceeds the total
// memory is done in waves.
#include <algorithm>

#include "lib/plan/apportion.hpp"
#include "lib/plan/static_source.hpp"
#include "lib/plan/strategy.hpp"
#include "lib/plan/waves.hpp"

namespace mgpu {
namespace {

class ByMemory final : public Strategy {
 public:
  std::unique_ptr<SliceSource> begin(const PlanRequest& request, const History&) const override {
    const std::vector<Items> holds = held_by_each(request);
    const bool known =
        std::all_of(request.devices.begin(), request.devices.end(),
                    [](const DeviceEstimate& device) { return device.free_memory > 0; });
    std::vector<double> weights;
    for (std::size_t i = 0; i < holds.size(); ++i) {
      weights.push_back(
          static_cast<double>(known && holds[i] > 0 ? request.devices[i].free_memory : holds[i]));
    }
    Waves waves = full_waves(request, holds);
    if (waves.left > 0 &&
        std::any_of(holds.begin(), holds.end(), [](Items items) { return items > 0; })) {
      const std::vector<Items> last =
          apportion_within(waves.left, request.granularity, weights, holds);
      for (std::size_t i = 0; i < last.size(); ++i) waves.shares[i] += last[i];
    }
    put_odd_items_last(request, waves.shares);
    return make_static_source(request, waves.shares);
  }
};

}  // namespace

StrategyInfo memory_strategy() {
  return {"memory",
          "shares in proportion to free memory",
          {},
          [](const StrategyParams&) -> std::unique_ptr<Strategy> {
            return std::make_unique<ByMemory>();
          },
          {.fixed_shares = true}};
}

}  // namespace mgpu
