// adaptive: shares by the best available information: earlier samples of the case, or else the
// estimates. Within a sample, work moves between the queues of the devices as soon as one turns out
// to be faster or slower than expected.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "lib/plan/cost_model.hpp"
#include "lib/plan/learned_shares.hpp"
#include "lib/plan/queue_source.hpp"
#include "lib/plan/strategy.hpp"

namespace mgpu {
namespace {

// Most pieces of a share, all equal: the two in flight, which cannot be moved when a device slows
// down, are 6 % of it.
constexpr double kMostEvenPieces = 32;
constexpr double kWorthwhileOfRun = 0.02;  // fraction of the whole run: a smaller gain may be noise
// Fraction of the remaining time: a device more than 0.8 busy until the end next to one less than
// 0.5.
constexpr double kGapOfRest = 0.3;

class AdaptiveSource final : public QueueSource {
 public:
  AdaptiveSource(const PlanRequest& request, const std::optional<std::vector<double>>& learned)
      : QueueSource(request, kMostEvenPieces, learned) {}

  void finished(DeviceIndex device, const Slice& slice, Nanos busy) override {
    QueueSource::finished(device, slice, busy);
    changed_ = true;
  }
  void rejected(DeviceIndex device, const Slice& slice, Items at_most) override {
    QueueSource::rejected(device, slice, at_most);
    changed_ = true;
  }
  void lost(DeviceIndex device, std::span<const Slice> not_on_host) override {
    QueueSource::lost(device, not_on_host);
    changed_ = true;
  }
  void joined(DeviceIndex device) override {
    QueueSource::joined(device);
    changed_ = true;
  }

 private:
  void balance(DeviceIndex asking) override {
    if (changed_) plan_anew();
    changed_ = false;
    // Also moves a single granule, which is more than any part of a new plan.
    steal_if_idle(asking);
  }

  // Re-plans the work that is not issued if that gains enough. The thresholds keep it from
  // following noise, the cost of a move keeps it from moving a few items.
  void plan_anew() {
    const double now = observed().now();
    double owned = 0, last = 0, first = std::numeric_limits<double>::infinity(), cost = 0;
    for (std::uint32_t i = 0; i < ledger().size(); ++i) {
      if (!ledger().is_able({i})) continue;
      owned += static_cast<double>(ledger().owned({i}));
      const double end = queue_end({i});
      last = std::max(last, end);
      first = std::min(first, end);
      cost = std::max(cost, move_cost({i}));
    }
    if (owned == 0) return;
    const WaterLevel level =
        observed().common_end(ledger(), owned + static_cast<double>(ledger().shared()));
    const double gain = last - level.end;
    const bool uneven = last - first > kGapOfRest * (last - now);
    if ((uneven || gain > kWorthwhileOfRun * last) && gain > std::max(cost, last * 1e-9))
      move_to(level.amounts);
  }

  // Moves work from the tails of devices with too much to those with too little, no more than the
  // difference.
  void move_to(const std::vector<double>& amounts) {
    std::uint32_t donor = 0;
    for (std::uint32_t taker = 0; taker < ledger().size(); ++taker) {
      while (donor < ledger().size()) {
        // A shorter piece is not worth its launch.
        const double worth = 2 * move_cost({taker}) * observed().rate({taker});
        const double least = std::max(static_cast<double>(ledger().granularity()) / 2, worth);
        const double wanted = ledger().is_able({taker}) ? amounts[taker] - owned(taker) : 0;
        if (wanted < least) break;
        const double spare = owned(donor) - amounts[donor];
        if (donor == taker || spare < least || !move({donor}, {taker}, std::min(wanted, spare)))
          ++donor;
      }
    }
  }

  bool move(DeviceIndex donor, DeviceIndex taker, double items) {
    const double granule = static_cast<double>(ledger().granularity());
    return ledger().move_tail(donor, taker,
                              static_cast<Items>(std::round(items / granule) * granule)) > 0;
  }
  double owned(std::uint32_t device) const { return static_cast<double>(ledger().owned({device})); }

  bool changed_ = false;
};

class Adaptive final : public Strategy {
 public:
  explicit Adaptive(bool from_equal) : from_equal_(from_equal) {}
  std::unique_ptr<SliceSource> begin(const PlanRequest& request,
                                     const History& history) const override {
    auto shares = learned_shares(request, history, estimated_speeds(request).rates);
    if (!shares && from_equal_) shares.emplace(request.devices.size(), 1.0);
    return std::make_unique<AdaptiveSource>(request, shares);
  }

 private:
  bool from_equal_;
};

}  // namespace

StrategyInfo adaptive_strategy() {
  return {"adaptive",
          "shares that follow what is measured, within a sample and between samples",
          {named_param("start", {"estimates", "equal"},
                       "the shares of a first sample, of which nothing is known but by probes")},
          [](const StrategyParams& params) -> std::unique_ptr<Strategy> {
            return std::make_unique<Adaptive>(params.at("start") == 1);
          },
          {.by_rate = true, .learns = true}};
}

}  // namespace mgpu
