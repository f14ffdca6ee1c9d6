// stealing: every device starts with its share as a queue of its own; one that has run out takes from the tail of the queue that
// would end last, where that pays.
#include <cmath>

#include "lib/plan/cost_model.hpp"
#include "lib/plan/queue_source.hpp"
#include "lib/plan/static_source.hpp"
#include "lib/plan/strategy.hpp"

namespace mgpu {
namespace {

class StealingSource final : public QueueSource {
 public:
  StealingSource(const PlanRequest& request, double pieces)
      : QueueSource(request, shares_by_weight(request, estimated_speeds(request).rates), pieces) {}

 private:
  void balance(DeviceIndex thief) override {
    if (ledger().owned(thief) > 0 || ledger().shared() > 0 || !ledger().is_able(thief)) return;
    // Largest estimated remaining time, not largest count: a slow device with little left is the one to help.
    DeviceIndex victim = thief;
    double last = 0;
    for (std::uint32_t i = 0; i < ledger().size(); ++i) {
      if (ledger().owned({i}) == 0) continue;
      const double end = queue_end({i});
      if (victim == thief || end > last) {
        victim = {i};
        last = end;
      }
    }
    if (victim != thief) steal(thief, victim, last);
  }

  // As much as lets both end together: a share r_thief / (r_thief + r_victim) of what the victim has left when both are free now,
  // less by what the thief still has in flight and the launch it pays.
  void steal(DeviceIndex thief, DeviceIndex victim, double before) {
    const double mine = pace().rate(thief), theirs = pace().rate(victim), cost = move_cost(thief);
    const double start = pace().end(ledger(), thief) + cost;
    const double granule = static_cast<double>(ledger().granularity());
    const double items = std::round((before - start) * mine * theirs / (mine + theirs) / granule) * granule;
    if (!(items >= granule)) return;
    const double after = std::max(start + items / mine, before - items / theirs);
    if (before - after > cost * (1 + 1e-9)) ledger().move_tail(victim, thief, static_cast<Items>(items));
  }
};

class Stealing final : public Strategy {
 public:
  explicit Stealing(double pieces) : pieces_(pieces) {}
  std::unique_ptr<SliceSource> begin(const PlanRequest& request, const History&) const override {
    return std::make_unique<StealingSource>(request, pieces_);
  }

 private:
  double pieces_;
};

}  // namespace

StrategyInfo stealing_strategy() {
  return {
      "stealing",
      "a queue per device; idle devices take from the one that would end last",
      {{"pieces", 16, 1, 4096, "a piece is at least 1/pieces of a share; more where launches would cost over 2 %", true}},
      [](const StrategyParams& params) -> std::unique_ptr<Strategy> { return std::make_unique<Stealing>(params.at("pieces")); }};
}

}  // namespace mgpu
