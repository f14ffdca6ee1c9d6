#include "lib/predict/predictor.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <thread>
#include <utility>

#include "lib/base/stats.hpp"
#include "lib/plan/exchange.hpp"

namespace mgpu {
namespace {

// Least difference between a probe's slices that shows what an item costs a CPU (fit_compute).
constexpr Nanos kLongProbe = std::chrono::milliseconds(1);
constexpr std::size_t kRoundsOfCpus = 20;  // medians of six turns differed by 8 %

// Returns a device's estimate from calibration, without any probe. A CPU copies with the cores that
// compute.
DeviceEstimate calibrated_estimate(const KnownDevice& device, const ItemCost& cost, Mode mode,
                                   bool gathers) {
  const Capability& capability = *device.capability;
  const bool cpu = device.facts->is_cpu();
  DeviceEstimate estimate;
  double per_item = device.slow * cost.ops / device.rate->ops_per_s;
  estimate.launch = from_seconds(device.slow * seconds(device.rate->slice)) + device.delay;
  estimate.fixed = device.rate->fixed;
  if (mode.transfers() && cpu) {
    if (capability.pinned_up > 0) per_item += cost.in_bytes / capability.pinned_up;
    if (capability.pinned_down > 0) per_item += cost.out_bytes / capability.pinned_down;
    const double replicated =
        capability.pinned_up > 0 ? static_cast<double>(cost.replicated) / capability.pinned_up : 0;
    estimate.fixed += from_seconds(replicated);
    if (gathers) estimate.fixed_shared = from_seconds(replicated);
  } else if (mode.transfers()) {
    estimate.up = capability.pinned_up;
    estimate.down = capability.pinned_down;
    estimate.transfer = capability.launch;
  }
  estimate.items_per_s = 1 / per_item;
  return estimate;
}

// Adds facts that hold for the device wherever its times come from.
void add_facts(DeviceEstimate& estimate, const KnownDevice& device) {
  estimate.on_cpu = device.facts->is_cpu();
  estimate.fits =
      estimate.fits > 0 ? std::min(estimate.fits, device.capacity.fits) : device.capacity.fits;
  estimate.pipeline =
      std::min(estimate.fits, estimate.pipeline > 0 ? estimate.pipeline : device.capacity.pipeline);
}

// Returns `together` with the kernel times of device n replaced by those it took on its own. On a
// host whose cores compute, GPUs wait for each kernel to be enqueued, which a short probe cannot
// distinguish from items that cost more: 3 us per item, where an H200 next to 16 cores takes 0.25.
Probe with_kernels_of(const Probe& by_itself, Probe together, std::size_t n) {
  if (n >= together.devices.size() || by_itself.devices.empty()) return together;
  together.devices[n].compute = by_itself.devices.front().compute;
  together.devices[n].kernels = by_itself.devices.front().kernels;
  return together;
}

}  // namespace

Predictor::Predictor(Workload& workload, Mode mode, std::vector<KnownDevice> devices,
                     std::size_t set, const LinkCapability* link, const SetEstimates* given)
    : workload_(workload),
      mode_(mode),
      devices_(std::move(devices)),
      set_(set),
      link_(link),
      given_(given),
      merge_(workload.shape().merge) {}

void Predictor::time_merge(Backend& backend) {
  constexpr std::int64_t kFew = 2, kMany = 8;
  constexpr std::size_t kTimes = 5;
  constexpr Nanos kEnough = std::chrono::milliseconds(20);
  TimedMerge* const timed = workload_.timed_merge();
  if (timed == nullptr || given_ != nullptr) return;
  const auto time_of = [&](std::int64_t parts) {
    std::vector<Nanos> times;
    for (Nanos all{}; times.size() < kTimes && all < kEnough; all += times.back()) {
      // Lets caches cool down, as they have when a merge begins in a sample.
      if (!backend.is_virtual()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const Nanos begin = backend.now();
      timed->rehearse_merge(static_cast<std::size_t>(parts));
      times.push_back(backend.now() - begin);
    }
    return summarise(times).median;
  };
  const Nanos few = time_of(kFew);
  merge_.per_slice = std::max(Nanos{}, time_of(kMany) - few) / (kMany - kFew);
  merge_.fixed = std::max(Nanos{}, few - kFew * merge_.per_slice);
}

void Predictor::set_capacity(std::size_t device, const Capacity& capacity, Bytes free_memory) {
  devices_[device].capacity = capacity;
  devices_[device].free_memory = free_memory;
}

std::vector<DeviceFault> Predictor::probe(Backend& backend, Executor& executor,
                                          std::span<const std::size_t> devices,
                                          std::span<const Participant> participants) {
  if (SizedByDevices* const sized = workload_.sized_by_devices())
    sized->set_device_count(devices.size());
  ProbeSize size;
  size.most = std::numeric_limits<Items>::max();
  size.turns = kRoundsOfCpus;
  size.most_turns = most_turns_;
  for (const std::size_t i : devices) {
    size.most = std::min(size.most, devices_[i].capacity.pipeline);
    size.known.push_back(known_costs(devices_[i], workload_, mode_, devices.size(), set_));
  }
  Probe seen = run_probe(backend, executor, workload_, participants, size);
  std::vector<DeviceFault> faults = std::move(seen.faults);
  if (faults.empty()) probes_[{devices.begin(), devices.end()}] = std::move(seen);
  return faults;
}

const Probe& Predictor::probe_of(std::span<const std::size_t> devices) const {
  static const Probe nothing;
  const auto found = probes_.find({devices.begin(), devices.end()});
  return found == probes_.end() ? nothing : found->second;
}

SetEstimates Predictor::estimate(std::span<const std::size_t> devices) const {
  SetEstimates set;
  set.merge = given_ ? given_->merge : merge_;
  set.exchange = exchange_among(devices);
  double together_up = 0, together_down = 0;
  std::vector<double> own_up, own_down;
  for (std::size_t n = 0; n < devices.size(); ++n) {
    const Seen seen = seen_of(devices, n);
    together_up += seen.up;
    together_down += seen.down;
    own_up.push_back(seen.estimate.up);
    own_down.push_back(seen.estimate.down);
    const KnownDevice& known = devices_[devices[n]];
    DeviceEstimate& estimate = set.devices.emplace_back(seen.estimate);
    estimate.score = known.facts->score;
    estimate.free_memory = known.free_memory;
    if (given_ && devices[n] < given_->devices.size()) {
      estimate = given_->devices[devices[n]];
      estimate.fixed = fixed_of(estimate, devices.size(), given_->devices.size());
    }
    add_facts(estimate, known);
  }
  set.chain = chain_of(devices);
  for (std::size_t n = 0; set.chain && !given_ && n < devices.size();
       ++n) {  // a probe is of the first stages only
    const std::vector<double>& stages = set.chain->devices[n].keeps;
    const double all =
        std::accumulate(stages.begin(), stages.end(), 0.0) * workload_.shape().rounds;
    if (all > 0) set.devices[n].items_per_s = static_cast<double>(stages.size()) / all;
  }
  if (given_) {
    set.link_up = given_->link_up;
    set.link_down = given_->link_down;
    set.network = given_->network.among(devices);
    return set;
  }
  const bool first_of_set = devices.front() == 0 && devices.back() + 1 == devices.size();
  const bool calibrated = link_ != nullptr && first_of_set && link_->knows(devices.size());
  set.link_up = link_of(together_up, std::move(own_up), calibrated ? link_->up : LinkRate{});
  set.link_down =
      link_of(together_down, std::move(own_down), calibrated ? link_->down : LinkRate{});
  return set;
}

std::optional<ChainEstimate> Predictor::chain_of(std::span<const std::size_t> devices) const {
  std::vector<std::string> ids;
  for (const std::size_t i : devices) ids.push_back(devices_[i].facts->id);
  StagedWorkload* const staged = workload_.staged();
  return staged != nullptr ? staged->chain(ids) : std::nullopt;
}

Predictor::Seen Predictor::seen_of(std::span<const std::size_t> devices, std::size_t n) const {
  const KnownDevice& known = devices_[devices[n]];
  const Probe& together = probe_of(devices);
  const std::size_t count = devices.size();
  const bool cpu = known.facts->is_cpu();
  const ItemCost cost = cost_of(workload_, mode_);
  const Share share{cpu ? known.facts->compute_units : 0, workload_.shape().items / count,
                    known.capacity.pipeline};
  const Probe& by_itself = probe_of(devices.subspan(n, 1));
  const DeviceEstimate alone = estimate_of(by_itself, 0, cost, mode_, share);
  const bool beside_cpu = !cpu && std::any_of(devices.begin(), devices.end(), [&](std::size_t i) {
    return devices_[i].facts->is_cpu();
  });
  Seen seen{estimate_of(beside_cpu ? with_kernels_of(by_itself, together, n) : together, n, cost,
                        mode_, share),
            0, 0};
  const bool beside = count > 1 && n < together.devices.size();
  const ProbedDevice probed = beside ? together.devices[n] : ProbedDevice{};
  seen.up = probed.up > 0 && seen.estimate.up > 0 ? probed.up : seen.estimate.up;
  seen.down = probed.down > 0 && seen.estimate.down > 0 ? probed.down : seen.estimate.down;
  // Not done for CPUs: their rates also depend on other work at the same time, which cannot be
  // separated here.
  if (count > 1 && !cpu && alone.items_per_s > 0) {
    const Nanos longer = std::max(Nanos{}, seen.estimate.fixed - alone.fixed);
    seen.estimate.per_peer_contention = longer / static_cast<std::int64_t>(count - 1);
  }
  // A CPU's copies are not predicted from bytes.
  Nanos shared = exchange_.gathers && cpu ? together.replicated : Nanos{};
  if (exchange_.combines > 0) shared += together.bringing;
  if (count > 1 && !exchange_.links.empty())
    seen.estimate.fixed_shared = std::min(shared, seen.estimate.fixed);
  seen.estimate.up = alone.up;
  seen.estimate.down = alone.down;
  return seen;
}

SetEstimates Predictor::estimate_from_calibration() const {
  SetEstimates set;
  set.merge = merge_;
  set.exchange = exchange_;
  bool cpus = true;
  for (std::size_t i = 0; i < set_; ++i) {
    const KnownDevice& known = devices_[i];
    DeviceEstimate& estimate = set.devices.emplace_back(
        calibrated_estimate(known, cost_of(workload_, mode_), mode_, exchange_.gathers));
    estimate.score = known.facts->score;
    estimate.free_memory = known.free_memory;
    add_facts(estimate, known);
    cpus &= known.facts->is_cpu();
  }
  if (link_ != nullptr && !cpus) {
    set.link_up = link_->up;
    set.link_down = link_->down;
  }
  return set;
}

PlanRequest Predictor::request(const SetEstimates& estimates) const {
  const Shape& shape = workload_.shape();
  return {shape.items,
          shape.granularity,
          mode_,
          cost_of(workload_, mode_),
          estimates.devices,
          estimates.link_up,
          estimates.link_down,
          estimates.merge,
          estimates.exchange,
          shape.rounds,
          estimates.chain ? &*estimates.chain : nullptr,
          estimates.network.any() ? &estimates.network : nullptr,
          objective_};
}

std::vector<bool> Predictor::exchanging(const Prediction& prediction,
                                        const SliceSource& source) const {
  std::vector<DeviceEstimate> estimates;
  return mgpu::exchanging(as_chosen(prediction, request(prediction.estimates), estimates), source);
}

ExchangeEstimate Predictor::exchange_among(std::span<const std::size_t> devices) const {
  if (exchange_.links.empty() || devices.size() < 2 || devices.back() >= exchange_.links.devices())
    return {};
  return {exchange_.links.among(devices), exchange_.gathers, exchange_.combines, exchange_.rounds,
          exchange_.halo};
}

ExchangeEstimate exchange_estimate(const Exchanged& exchanged, const PeerLinks& links, bool held) {
  const std::vector<PeerPath> paths = paths_of(links);
  const bool hidden = exchanged.hides_halos && !held &&
                      std::all_of(paths.begin(), paths.end(),
                                  [](PeerPath path) { return path == PeerPath::direct; });
  return {links, exchanged.inputs, exchanged.part, hidden ? 0 : exchanged.rounds,
          hidden ? 0 : exchanged.halo};
}

DeviceIndex fastest_of(std::span<const DeviceEstimate> estimates) {
  const auto slower = [](const DeviceEstimate& a, const DeviceEstimate& b) {
    return a.items_per_s < b.items_per_s;
  };
  return {static_cast<std::uint32_t>(std::max_element(estimates.begin(), estimates.end(), slower) -
                                     estimates.begin())};
}

KnownCosts known_costs(const KnownDevice& device, Workload& workload, Mode mode, std::size_t count,
                       std::size_t all) {
  const Shape& shape = workload.shape();
  const double ops = cost_of(workload, mode).ops;  // per item
  const bool cpu = device.facts->is_cpu();
  const SuiteRate* rate = device.rate;
  KnownCosts costs;
  if (cpu) costs.believed = shape.superlinear ? Nanos::max() : kLongProbe;
  if (rate == nullptr || !(rate->ops_per_s > 0)) return costs;
  costs.full_per_item_s = ops / rate->ops_per_s;
  costs.full_per_item_s *= device.slow;
  if (!cpu) {
    if (!shape.superlinear || !(rate->fewer_ops > 0)) return costs;
    costs.share = shape.items / count;
    costs.line =
        KnownLine{static_cast<Items>(rate->fewer_ops / ops),
                  from_seconds(seconds(rate->fewer) * device.slow),
                  {from_seconds(seconds(rate->slice) * device.slow), costs.full_per_item_s}};
    return costs;
  }
  if (all > 1)
    costs.full_per_item_s *=
        1 + (rate->contended - 1) * static_cast<double>(count - 1) / static_cast<double>(all - 1);
  if (!shape.superlinear || !(rate->ops > 0)) return costs;
  const double share = ops * static_cast<double>(shape.items) / static_cast<double>(count);
  costs.least_slice = from_seconds(seconds(rate->slice) * device.slow);
  costs.least_rest =
      from_seconds(seconds(rate->fixed) * std::pow(share / rate->ops, rate->fixed_grows));
  return costs;
}

LinkRate link_of(double together, std::vector<double> own, const LinkRate& calibrated) {
  const std::size_t count = own.size();
  const double most = calibrated.of(count);
  if (most > 0) together = std::min(together, most);
  if (!(together > 0) || count < 3) return together;
  std::vector<double> by_count(count);
  if (calibrated.by_count().size() >= count) {
    for (std::size_t k = 1; k <= count; ++k) by_count[k - 1] = calibrated.of(k) * (together / most);
    return LinkRate(std::move(by_count));
  }
  const double all = std::accumulate(own.begin(), own.end(), 0.0);
  if (together >= all) return together;
  std::sort(own.begin(), own.end(), std::greater<>());
  double fastest = 0;
  for (std::size_t k = 1; k <= count; ++k) {
    fastest += own[k - 1];
    const double shrunk =
        1 - (1 - together / all) * static_cast<double>(k - 1) / static_cast<double>(count - 1);
    by_count[k - 1] = std::min(together, fastest * shrunk);
  }
  return LinkRate(std::move(by_count));
}

}  // namespace mgpu
