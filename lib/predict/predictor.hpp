// Predictor: predicts how long a case takes. It is the only place that makes estimates of devices.
// It combines what is known of devices beforehand with short probes into the estimates that
// strategies are given; simulating the source that will run (lib/plan) turns those into a time.
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

// A device of the set, with what is known before it is probed. Views data that outlive the
// predictor.
struct KnownDevice {
  const Device* facts = nullptr;
  double slow = 1;  // factor by which its kernels take longer, in every sample
  Nanos delay{};    // delay before every slice, for estimates without a probe
  const Capability* capability = nullptr;  // null: not calibrated
  // Rate of this work at its reference size; null: not measured.
  const SuiteRate* rate = nullptr;
  Capacity capacity = {};  // capacity for this problem; set by set_capacity
  Bytes free_memory = 0;   // free memory before the problem's buffers are allocated
};

// Returns the estimate of the exchanges of a workload over these links. Hidden halos take no time,
// except if a device is stalled between its kernels on purpose (`held`): separate commands then
// wait for halos.
ExchangeEstimate exchange_estimate(const Exchanged& exchanged, const PeerLinks& links, bool held);

class Predictor {
 public:
  // The first `set` of `devices` are the set; the others are in reserve. `link`: calibrated link of
  // the set; null: not calibrated. `given` (null: nothing) overrides probes. All viewed data
  // outlive the predictor.
  Predictor(Workload& workload, Mode mode, std::vector<KnownDevice> devices, std::size_t set,
            const LinkCapability* link, const SetEstimates* given);

  // Sets what the devices of the set exchange in samples that they share. Without a call, and
  // without links, predictions include no exchange.
  void set_exchange(ExchangeEstimate exchange) { exchange_ = std::move(exchange); }
  // Returns the estimate of the exchange among these devices.
  ExchangeEstimate exchange_among(std::span<const std::size_t> devices) const;

  // Sets the capacity of the device, once it is known; before, it counts as 0.
  void set_capacity(std::size_t device, const Capacity& capacity, Bytes free_memory);

  // Times what the host takes to merge, where strategies weigh that; before, merges take what the
  // shape of the work says.
  void time_merge(Backend& backend);

  // Sets what choose() minimises; before, the time.
  void set_objective(Objective objective) { objective_ = objective; }

  // Sets the number of turns that is enough for a probe (ProbeSize).
  void set_most_turns(std::size_t turns) { most_turns_ = turns; }

  // Lets these devices, whose programs are `participants`, execute a short part of the work at
  // once, and saves the measured times. Returns faults; nothing is saved then. Blocks; a device
  // counts as hung by the limits of the backend.
  std::vector<DeviceFault> probe(Backend& backend, Executor& executor,
                                 std::span<const std::size_t> devices,
                                 std::span<const Participant> participants);

  // Returns the estimates for a case of these devices. Rates are from the probe of exactly this set
  // of devices; a device's own link is as measured alone. The shared link is as probed, which
  // depends on where this memory lies, and at most as calibrated. Rates are 0 if there was no such
  // probe.
  SetEstimates estimate(std::span<const std::size_t> devices) const;

  // Returns the estimates for the whole set, from calibration alone. Every device of it needs a
  // capability and a rate.
  SetEstimates estimate_from_calibration() const;

  PlanRequest request(const SetEstimates& estimates) const;  // views the estimates

  // The following call the functions of lib/predict/prediction.hpp with the prediction's estimates.
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
  // Returns, by device, whether it exchanges data in a sample of that source.
  std::vector<bool> exchanging(const Prediction& prediction, const SliceSource& source) const;

 private:
  // Estimate of one of several devices at work. Its own link is as measured alone.
  struct Seen {
    DeviceEstimate estimate;
    double up = 0, down = 0;  // bytes/s while the others also copied; 0: no limit seen
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
  Objective objective_ = Objective::time;
  ExchangeEstimate exchange_;
  MergeEstimate merge_;
  std::map<std::vector<std::size_t>, Probe> probes_;  // by the devices at work
};

// Returns the device with the least time per item, the first of equals: it merges if a device
// merges.
DeviceIndex fastest_of(std::span<const DeviceEstimate> estimates);

// Returns what is known, before probes, of a device that is one of `count` at work in a set of
// `all`, for a workload set to `count` devices.
KnownCosts known_costs(const KnownDevice& device, Workload& workload, Mode mode, std::size_t count,
                       std::size_t all);

// Returns the rate of the link that devices share, by number of devices. All of them at once were
// seen to carry `together`, and each alone `own`, bytes/s (0: no limit); the result is at most as
// calibrated. The growth with the number of devices is as calibrated. If that is not known, the
// fraction of its own rate that each device gets falls linearly, and fewer devices never carry more
// than all.
LinkRate link_of(double together, std::vector<double> own, const LinkRate& calibrated);

}  // namespace mgpu
