// single: everything on the device that is fastest alone; the base of every speed-up.
#include "lib/plan/cost_model.hpp"
#include "lib/plan/ledger.hpp"
#include "lib/plan/static_source.hpp"
#include "lib/plan/strategy.hpp"

namespace mgpu {
namespace {

class Single final : public Strategy {
 public:
  // Takes the greatest known rate first; a device whose rate is known precedes one whose rate is
  // not; then the score, then the lower index.
  std::unique_ptr<SliceSource> begin(const PlanRequest& request, const History&) const override {
    std::vector<Items> shares(request.devices.size(), 0);
    const std::vector<bool> takes_part = taking_part(request);
    std::size_t best = shares.size();
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (takes_part[i] &&
          (best == shares.size() || is_better(request, request.devices[i], request.devices[best])))
        best = i;
    }
    if (best != shares.size()) shares[best] = request.items;
    return make_static_source(request, shares);
  }

 private:
  static bool is_better(const PlanRequest& request, const DeviceEstimate& a,
                        const DeviceEstimate& b) {
    const double rate_a = pipelined_rate(request, a), rate_b = pipelined_rate(request, b);
    return rate_a > 0 || rate_b > 0 ? rate_a > rate_b : a.score > b.score;
  }
};

}  // namespace

StrategyInfo single_strategy() {
  return {
      "single",
      "everything on the device that is fastest alone",
      {},
      [](const StrategyParams&) -> std::unique_ptr<Strategy> { return std::make_unique<Single>(); },
      {.fixed_shares = true, .single_device = true}};
}

}  // namespace mgpu
