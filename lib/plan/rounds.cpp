#include "lib/plan/rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/plan/chain.hpp"

namespace mgpu {
namespace {

class KeptShares final : public SliceSource {
 public:
  KeptShares(std::vector<Items> shares, std::optional<Rebalancer> rebalancer)
      : shares_(std::move(shares)),
        ranges_(ranges_of(shares_)),
        given_(shares_.size(), false),
        rebalancer_(std::move(rebalancer)) {
    for (const Items share : shares_) left_ += share;
  }

  Answer next(DeviceIndex device) override {
    const std::size_t i = device.value;
    if (i < ranges_.size() && ranges_[i].size() > 0 && !given_[i]) {
      given_[i] = true;
      return ranges_[i];
    }
    if (left_ == 0) return Done{};
    return Wait{true};
  }
  void finished(DeviceIndex, const Slice& slice, Nanos) override { left_ -= slice.size(); }
  bool uses_times() const override { return false; }
  void rejected(DeviceIndex, const Slice& slice, Items) override {
    throw Error(
        ErrorKind::unsupported,
        fmt::format("a device has no memory for its share of {} items, which it needs whole",
                    slice.size()));
  }
  void lost(DeviceIndex device, std::span<const Slice>) override {
    if (device.value < shares_.size() && shares_[device.value] > 0)
      throw Error(ErrorKind::device, "a device was lost, and the state of its share with it");
  }
  void joined(DeviceIndex) override {
    throw Error(ErrorKind::device, "nobody has the state of the devices that were lost");
  }
  std::vector<Items> first_shares() const override { return shares_; }
  Rebalancer* rebalancer() override { return rebalancer_ ? &*rebalancer_ : nullptr; }

 private:
  std::vector<Items> shares_;
  std::vector<Slice> ranges_;
  std::vector<bool> given_;
  Items left_ = 0;  // unfinished items
  std::optional<Rebalancer> rebalancer_;
};

}  // namespace

std::vector<Slice> ranges_of(const std::vector<Items>& shares) {
  std::vector<Slice> ranges;
  Items begin = 0;
  for (const Items share : shares) {
    ranges.push_back({begin, begin + share});
    begin += share;
  }
  return ranges;
}

std::unique_ptr<SliceSource> make_kept_shares(std::vector<Items> shares,
                                              std::optional<Rebalancer> rebalancer) {
  return std::make_unique<KeptShares>(std::move(shares), std::move(rebalancer));
}

std::unique_ptr<SliceSource> begin_strategy(const StrategyInfo& strategy,
                                            const StrategyParams& params,
                                            const PlanRequest& request, const History& history) {
  if (request.rounds > 0 && !strategy.traits.fixed_shares && !strategy.traits.learns) {
    throw Error(
        ErrorKind::unsupported,
        fmt::format(
            "not applicable: the work iterates over a fixed partition, and {} reassigns work",
            strategy.name));
  }
  if (request.network != nullptr && !strategy.traits.simulates) {
    std::vector<DeviceEstimate> devices;
    return begin_strategy(strategy, params, without_network(request, devices), history);
  }
  std::unique_ptr<SliceSource> source = strategy.make(params)->begin(request, history);
  if (request.rounds == 0) return source;
  const bool balances = request.chain != nullptr && strategy.traits.by_rate;
  const std::vector<Items> shares = balances ? balanced_chain(request) : source->first_shares();
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i] <= request.devices[i].fits) continue;
    throw Error(ErrorKind::unsupported,
                fmt::format("device {} of the set holds {} items at most, and its share is {}", i,
                            request.devices[i].fits, shares[i]));
  }
  const bool several =
      std::count_if(shares.begin(), shares.end(), [](Items share) { return share > 0; }) > 1;
  if (!strategy.traits.learns || !several || request.chain != nullptr)
    return make_kept_shares(shares);
  return make_kept_shares(shares, Rebalancer(request, shares));
}

}  // namespace mgpu
