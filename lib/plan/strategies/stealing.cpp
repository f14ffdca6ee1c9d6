// stealing: every device starts with its share as its own queue; a device that has run out takes
// from the tail of the queue that would end last, if that gains time.
#include "lib/plan/queue_source.hpp"
#include "lib/plan/strategy.hpp"

namespace mgpu {
namespace {

class StealingSource final : public QueueSource {
 public:
  StealingSource(const PlanRequest& request, double pieces) : QueueSource(request, pieces) {}

 private:
  void balance(DeviceIndex asking) override { steal_if_idle(asking); }
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
  return {"stealing",
          "a queue per device; idle devices take from the one that would end last",
          {{"pieces", 16, 1, 4096,
            "a piece is at least 1/pieces of a share; more where launches would cost over 2 to 4 %",
            true}},
          [](const StrategyParams& params) -> std::unique_ptr<Strategy> {
            return std::make_unique<Stealing>(params.at("pieces"));
          }};
}

}  // namespace mgpu
