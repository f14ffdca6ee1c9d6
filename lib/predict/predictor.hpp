// How long a case will take: the one place that makes estimates of devices and predicts with them.
// What is known of devices beforehand and short probes become the estimates that strategies are
// given; simulating the source that will run (lib/plan) turns those into a time.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lib/device/capability.hpp"
#include "lib/predict/prediction.hpp"
#include "lib/predict/probe.hpp"

namespace mgpu {

// A device of the set, as far as it is known before it is probed. Views what outlives the
// predictor.
struct KnownDevice {
  const Device* facts = nullptr;
  double slow = 1;  // its kernels take this many times as long, in every sample
  const Capability* capability = nullptr;  // as calibrated; null: it is not
  const SuiteRate* rate = nullptr;         // of this work at its reference size; null: not measured
  Capacity capacity = {};                  // of this problem; set_capacity
  Bytes free_memory = 0;                   // before the problem's buffers
};

// What is predicted of what a workload exchanges, over these links. Halos that are hidden take no
// time, but where a device is `held` up on purpose between its kernels: commands of their own wait
// for halos then.
ExchangeEstimate exchange_estimate(const Exchanged& exchanged, const PeerLinks& links, bool held);

class Predictor {
 public:
  // The first `set` of `devices` are the set; what follows is in reserve. `link`: of the set, as
  // calibrated; null: it is not. `given` (null: nothing is) wins over what is probed. All that is
  // viewed outlives the predictor.
  Predictor(Workload& workload, Mode mode, std::vector<KnownDevice> devices, std::size_t set,
            const LinkCapability* link, const SetEstimates* given);

  // What the devices of the set exchange in samples of several of them; before, and with no links,
  // nothing as far as is known.
  void set_exchange(ExchangeEstimate exchange) { exchange_ = std::move(exchange); }
  // Of that, among these devices.
  ExchangeEstimate exchange_among(std::span<const std::size_t> devices) const;

  // What the device can be given, once that is known; before, it counts as nothing.
  void set_capacity(std::size_t device, const Capacity& capacity, Bytes free_memory);

  // Times what the host takes to merge, where strategies weigh that; before, it is as the shape of
  // the work says.
  void time_merge(Backend& backend);

  // Enough for a probe: see ProbeSize.
  void set_most_turns(std::size_t turns) { most_turns_ = turns; }

  // Has these devices, whose programs are `members`, execute a short part of the work at once, and
  // keeps what was seen. Faults are returned, and nothing is kept then. Blocks; a device counts as
  // hung by the limits of the backend.
  std::vector<DeviceFault> probe(Backend& backend, Executor& executor,
                                 std::span<const std::size_t> devices,
                                 std::span<const Member> members);

  // For a case of these devices: rates as the probe of exactly these saw them, a device's own link
  // as it is alone. What they share is as probed, which depends on where this memory lies, and no
  // more than calibrated. Rates are 0 where there was no such probe.
  SetEstimates estimate(std::span<const std::size_t> devices) const;

  // Of the whole set, by calibration alone. Every device of it needs a capability and a rate.
  SetEstimates estimate_from_calibration() const;

  PlanRequest request(const SetEstimates& estimates) const;  // views them

  // Call the functions of lib/predict/prediction.hpp with the prediction's estimates.
  void choose(Prediction& prediction, const StrategyChoice& strategy) const {
    mgpu::choose(prediction, strategy, request(prediction.estimates));
  }
  void predict(Prediction& prediction, const StrategyChoice& strategy,
               const History& history) const {
    mgpu::predict(prediction, strategy, history, request(prediction.estimates));
  }
  std::unique_ptr<SliceSource> begin(const Prediction& prediction, const StrategyChoice& strategy,
                                     const History& history) const {
    return mgpu::begin(prediction, strategy, history, request(prediction.estimates));
  }
  // Which devices are to exchange data in a sample of that source, if any do.
  std::vector<bool> exchanging(const Prediction& prediction, const SliceSource& source) const;

 private:
  // Of one device of several at work; its estimate has its own link, as it is alone.
  struct Seen {
    DeviceEstimate estimate;
    double up = 0, down = 0;  // bytes/s, while the others copied, too; 0: no limit seen
  };
  std::optional<ChainEstimate> chain_of(std::span<const std::size_t> devices) const;
  Seen seen_of(std::span<const std::size_t> devices, std::size_t n) const;
  const Probe& probe_of(std::span<const std::size_t> devices) const;

  Workload& workload_;
  Mode mode_;
  std::vector<KnownDevice> devices_;
  std::size_t set_;
  const LinkCapability* link_;
  const SetEstimates* given_;
  std::size_t most_turns_ = 0;
  ExchangeEstimate exchange_;
  MergeEstimate merge_;
  std::map<std::vector<std::size_t>, Probe> probes_;  // by who was at work
};

// The first of those that take least an item: it merges where a device does.
DeviceIndex fastest_of(std::span<const DeviceEstimate> estimates);

// What is known, before probes, of a device that is one of `count` at work in a set of `all`, for a
// workload that expects so many.
KnownCosts known_costs(const KnownDevice& device, Workload& workload, Mode mode, std::size_t count,
                       std::size_t all);

// What devices, and fewer of them, carry over the link they share, where all at once were seen to
// carry `together` and each alone `own`, bytes/s (0: no limit); no more than calibrated. How it
// grows with their number is as calibrated; where that is not known, what each gets of its own
// shrinks in a straight line, and no fewer carry more than all.
LinkRate link_of(double together, std::vector<double> own, const LinkRate& calibrated);

}  // namespace mgpu
