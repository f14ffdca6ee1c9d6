#include "lib/plan/as_measured.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/plan/rounds.hpp"
#include "lib/plan/simulator.hpp"

namespace mgpu {
namespace {

constexpr int kTimesOver = 6;
// Limit of the correction in one step: a larger factor is no measurement of what was estimated.
constexpr double kMostOff = 100;
constexpr double kMostSeconds = 1e6;

// Gives every device the slices it had, in their order.
class Replay final : public SliceSource {
 public:
  Replay(const MeasuredSample& sample, Items items)
      : sample_(sample), devices_(sample.devices.size()), left_(items) {}
  Answer next(DeviceIndex device) override {
    if (left_ == 0) return Done{};
    const std::vector<MeasuredSlice>& mine = sample_.devices[device.value].slices;
    State& state = devices_[device.value];
    if (state.given == mine.size()) return Wait{true};
    if (mine[state.given].held_back && state.finished < state.given) return Wait{};
    return mine[state.given++].slice;
  }
  void finished(DeviceIndex device, const Slice& slice, Nanos) override {
    ++devices_[device.value].finished;
    left_ -= slice.size();
  }
  void rejected(DeviceIndex, const Slice&, Items) override {}
  void lost(DeviceIndex, std::span<const Slice>) override {}
  void joined(DeviceIndex) override {}
  // A device without a share did not exchange data either.
  std::vector<Items> first_shares() const override {
    std::vector<Items> shares;
    for (const MeasuredDevice& device : sample_.devices) {
      Items& share = shares.emplace_back(0);
      for (const MeasuredSlice& given : device.slices) share += given.slice.size();
    }
    return shares;
  }

 private:
  struct State {
    std::size_t given = 0, finished = 0;  // numbers of slices
  };
  const MeasuredSample& sample_;
  std::vector<State> devices_;
  Items left_;
};

void check_cover(const PlanRequest& request, const MeasuredSample& sample) {
  if (sample.devices.size() != request.devices.size())
    throw Error(ErrorKind::usage, "a sample of other devices");
  std::vector<Slice> all;
  for (const MeasuredDevice& device : sample.devices) {
    for (const MeasuredSlice& given : device.slices) all.push_back(given.slice);
  }
  std::sort(all.begin(), all.end());
  Items end = 0;
  for (const Slice& slice : all) {
    if (slice.begin != end || slice.end <= slice.begin)
      throw Error(ErrorKind::usage, "its slices are not every item once");
    end = slice.end;
  }
  if (end != request.items) throw Error(ErrorKind::usage, "its slices are not every item once");
}

std::size_t slices_of(const MeasuredSample& sample) {
  std::size_t slices = 0;
  for (const MeasuredDevice& device : sample.devices) slices += device.slices.size();
  return slices;
}

double longer(Nanos measured, Nanos simulated) {
  if (measured <= Nanos{} || simulated <= Nanos{}) return 1;
  return std::clamp(seconds(measured) / seconds(simulated), 1 / kMostOff, kMostOff);
}

// Scales `all` by how much longer than simulated the device was busy, relative to the device that
// was busy for longest.
double longer_in_rounds(const MeasuredSample& sample, const Simulation& simulated,
                        std::size_t device, double all) {
  const auto longest =
      std::max_element(sample.devices.begin(), sample.devices.end(),
                       [](const auto& a, const auto& b) { return a.busy < b.busy; });
  const auto own = [&](std::size_t i) {
    return longer(sample.devices[i].busy, simulated.devices[i].busy);
  };
  const double relative =
      own(device) / own(static_cast<std::size_t>(longest - sample.devices.begin()));
  return std::clamp(all * relative, 1 / kMostOff, kMostOff);
}

Nanos times(Nanos time, double factor) {
  return from_seconds(std::min(seconds(time) * factor, kMostSeconds));
}

void stretch(DeviceEstimate& device, double factor) {
  device.items_per_s /= factor;
  device.up /= factor;
  device.down /= factor;
  for (Nanos* time :
       {&device.fixed, &device.per_peer_contention, &device.fixed_shared, &device.launch,
        &device.minimum_slice, &device.first_slice_discount, &device.transfer}) {
    *time = times(*time, factor);
  }
}

LinkRate slower(const LinkRate& link, double factor) {
  std::vector<double> by_count = link.by_count();
  for (double& rate : by_count) rate /= factor;
  return LinkRate(std::move(by_count));
}

void slow_down(PeerLinks& links, double factor) {
  for (std::size_t from = 0; from < links.devices(); ++from) {
    for (std::size_t to = 0; to < links.devices(); ++to) {
      links.of(from, to).bytes_per_s /= factor;
      links.of(from, to).latency = times(links.of(from, to).latency, factor);
    }
  }
}

}  // namespace

SetEstimates as_measured(const PlanRequest& request, const MeasuredSample& sample) {
  check_cover(request, sample);
  SetEstimates now{{request.devices.begin(), request.devices.end()},
                   request.link_up,
                   request.link_down,
                   request.merge,
                   request.exchange};
  Nanos last{};
  for (const MeasuredDevice& device : sample.devices) last = std::max(last, device.finish);
  const Nanos most_of_a_part =
      from_seconds(kMostSeconds / static_cast<double>(std::max<std::size_t>(1, slices_of(sample))));
  // The host sees an end later than it was.
  const Nanos between = std::max(Nanos{}, sample.makespan - sample.merge - last);
  for (int n = 0; n < kTimesOver; ++n) {
    PlanRequest corrected = request;
    corrected.devices = now.devices;
    corrected.link_up = now.link_up;
    corrected.link_down = now.link_down;
    corrected.merge = now.merge;
    corrected.exchange = now.exchange;
    Replay replay(sample, request.items);
    const Simulation simulated = simulate(corrected, replay);
    const double all = longer(last + between, simulated.makespan - simulated.merge);
    for (std::size_t i = 0; i < now.devices.size(); ++i) {
      const MeasuredDevice& measured = sample.devices[i];
      stretch(now.devices[i], measured.slices.empty() ? all
                              : request.rounds > 0
                                  ? longer_in_rounds(sample, simulated, i, all)
                                  : longer(measured.finish + between, simulated.devices[i].finish));
    }
    now.link_up = slower(now.link_up, all);
    now.link_down = slower(now.link_down, all);
    const double merging = longer(sample.merge, simulated.merge);
    for (Nanos* time : {&now.merge.fixed, &now.merge.per_slice})
      *time = std::min(times(*time, merging), most_of_a_part);
    slow_down(now.exchange.links, now.exchange.combines > 0 ? merging : all);
  }
  return now;
}

DeviceEstimate as_measured_alone(const PlanRequest& request, Nanos time) {
  DeviceEstimate device = request.devices.front();
  device.per_peer_contention = {};
  const StrategyChoice single = strategy_with(&StrategyTraits::single_device);
  PlanRequest corrected = request;
  corrected.devices = {&device, 1};
  for (int n = 0; n < kTimesOver; ++n) {
    const Simulation simulated =
        simulate(corrected, *begin_strategy(*single.info, single.params, corrected, {}));
    stretch(device, longer(time - simulated.merge, simulated.makespan - simulated.merge));
  }
  return device;
}

}  // namespace mgpu
