#include "lib/session/recorder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "lib/predict/suite_rates.hpp"
#include "lib/profile/rounds.hpp"
#include "lib/report/metric_interval.hpp"
#include "lib/session/recorded_params.hpp"
#include "lib/session/roofline.hpp"
#include "lib/session/watch.hpp"

namespace mgpu {
namespace {

std::size_t nearest_to(Nanos median, std::span<const Nanos> times) {
  const auto distance = [&](Nanos t) { return t > median ? t - median : median - t; };
  const auto at = std::min_element(times.begin(), times.end(),
                                   [&](Nanos a, Nanos b) { return distance(a) < distance(b); });
  return static_cast<std::size_t>(at - times.begin());
}

class Recorder {
 public:
  Recorder(const GroupResult& group, const RecordedGroup& of, Nanos pin,
           std::span<const TelemetryTrack> tracks)
      : group_(group), given_(of), pin_(pin), tracks_(tracks) {}

  std::vector<RunRecord> all() const {
    std::vector<RunRecord> records;
    // The cases after those of devices alone are in the requested order.
    std::size_t next = in_set(given_.devices);
    for (const std::size_t count : given_.options.device_counts) {
      for (const StrategyChoice& choice : given_.options.strategies) {
        const Case& the_case =
            choice.info->traits.single_device ? fastest_alone(count) : group_.cases[next++];
        records.push_back(
            record(the_case, choice, the_case.alone() ? left_of(count) : the_case.devices));
        records.back().devices_asked = count;
      }
    }
    return records;
  }

 private:
  const Case& fastest_alone(std::size_t count) const {
    return mgpu::fastest_alone(std::span(group_.cases).first(count));
  }

  // Returns those of the first `count` devices that have not failed, or have samples; all if there
  // is none.
  std::vector<std::size_t> left_of(std::size_t count) const {
    std::vector<std::size_t> all(count), left;
    std::iota(all.begin(), all.end(), std::size_t{0});
    std::copy_if(all.begin(), all.end(), std::back_inserter(left), [&](std::size_t i) {
      return !given_.devices[i].lost || !group_.cases[i].times.empty();
    });
    return left.empty() ? all : left;
  }

  std::optional<Nanos> alone(std::size_t device) const {
    if (device >= in_set(given_.devices) || group_.cases[device].times.empty())
      return std::nullopt;  // in reserve: not measured
    return summarise(group_.cases[device].times).median;
  }

  // Returns the efficiency: the speed in `times` as a share of the devices' speeds alone, summed.
  std::optional<double> efficiency(std::span<const Nanos> times,
                                   std::span<const std::size_t> set) const {
    if (set.size() == 1) return 1.0;  // by definition for one device
    double rates = 0;                 // in problems per second
    for (const std::size_t i : set) {
      const auto tau = alone(i);
      if (!tau || *tau <= Nanos{}) return std::nullopt;
      rates += 1 / seconds(*tau);
    }
    const Nanos median = times.empty() ? Nanos{} : summarise(times).median;
    if (median <= Nanos{}) return std::nullopt;
    const double share = 1 / (seconds(median) * rates);
    return share <= 1 + kSlightNoise ? std::optional(share) : std::nullopt;  // more is impossible
  }

  void add_faults(RunRecord& run, const Case& the_case) const {
    run.faults = the_case.faults;
    const bool shrunk = the_case.devices.size() < the_case.asked;
    for (Fault& fault : run.faults) {
      if (the_case.before)
        fault.efficiency_before = efficiency(the_case.before->times, the_case.before->devices);
      (shrunk ? fault.efficiency_after : fault.efficiency_before) =
          efficiency(the_case.times, the_case.devices);
    }
    for (const Case::Invalidated& invalidated : the_case.invalidated) {
      // A device alone has no row: its faults are the session's.
      if (the_case.alone()) break;
      InvalidatedSample& sample = run.invalidated.emplace_back();
      sample.time = invalidated.sample.makespan();
      sample.verify = invalidated.verify;
      sample.reason = invalidated.reason;
      sample.samples_before = invalidated.samples_before;
      for (const std::size_t i : invalidated.devices)
        sample.devices.push_back(given_.devices[i].facts.id);
      if (!invalidated.sample.failure && !invalidated.earlier)
        sample.timeline = to_timeline(invalidated.sample, clocks_of(invalidated.devices));
    }
  }

  // Says which devices were left out because they cannot do the problem.
  void note_unable(RunRecord& run, const Case& the_case) const {
    if (the_case.alone() || the_case.status != Status::ok) return;
    for (std::size_t i = 0; i < the_case.asked; ++i) {
      const bool used =
          std::find(the_case.devices.begin(), the_case.devices.end(), i) != the_case.devices.end();
      const std::string& reason = group_.prepared[i].capacity.reason;
      if (!used && !given_.devices[i].lost && !reason.empty())
        run.warnings.push_back("device " + given_.devices[i].facts.id + " was left out: " + reason);
    }
  }

  // Makes the record of a row. `set`: the devices of the row; for a device alone, those it was
  // chosen from.
  RunRecord record(const Case& the_case, const StrategyChoice& choice,
                   const std::vector<std::size_t>& set) const {
    RunRecord run;
    run.suite = given_.problem.suite->name;
    run.size_name = given_.problem.suite->size_name;
    run.params = recorded_params(given_.problem);
    run.strategy = choice.info->name;
    for (const StrategyParam& param : choice.info->params) {
      const double value = choice.params.at(param.name);
      run.strategy_params[param.name] =
          param.choices.empty() ? ParamValue(value) : ParamValue(param.text(value));
    }
    for (const std::size_t i : set) run.devices.push_back(given_.devices[i].facts.id);
    run.mode = given_.mode;
    run.status = the_case.status;
    if (the_case.status != Status::ok) run.reason = the_case.reason;
    run.verify = the_case.verify;
    const Shape& shape = given_.shape;
    run.work = {shape.items, shape.unit, shape.ops, shape.bytes_in, shape.bytes_out};
    run.rate_unit = shape.rate_unit;
    if (const auto noise = given_.options.noise.find(work_of(given_.problem));
        noise != given_.options.noise.end())
      run.noise_floor = noise->second;
    setup(run, set);
    // A resumed case without a sample of this run has only times.
    if (!the_case.samples.empty()) measured(run, the_case, set);
    add_faults(run, the_case);
    note_unable(run, the_case);
    if (given_.options.energy && the_case.status == Status::ok) add_energy(run, the_case, set);
    return run;
  }

  // Returns the sum over the devices' counters, a shared one once; none if one is not known.
  std::optional<double> energy_of(const EnergyBlock& block, std::span<const std::size_t> devices,
                                  EnergyRecord* into = nullptr) const {
    double sum = 0;
    bool host = false;
    for (const std::size_t i : devices) {
      const bool cpu = given_.devices[i].facts.is_cpu();
      if (cpu && std::exchange(host, true)) continue;
      const EnergyFigures& figures = block.counters[cpu ? 0 : i + 1];
      if (!figures.joules) return std::nullopt;
      sum += *figures.joules;
      if (into == nullptr) continue;
      into->half_width += figures.half_width;
      into->runs = figures.runs;
      into->run = figures.run;
      into->parts.resize(figures.parts.size());
      for (std::size_t k = 0; k < figures.parts.size(); ++k) into->parts[k] += figures.parts[k];
    }
    return sum;
  }

  void add_energy(RunRecord& run, const Case& the_case, std::span<const std::size_t> set) const {
    EnergyRecord& energy = run.energy.emplace();
    energy.reason = the_case.energy_reason;
    if (!the_case.energy) {
      run.warnings.push_back("energy is not known: " + energy.reason);
      return;
    }
    const EnergyBlock& block = *the_case.energy;
    // Of the devices of `auto`, only those of its plan are used.
    std::vector<std::size_t> used;
    const auto& chosen = the_case.prediction.chosen;
    for (std::size_t n = 0; n < the_case.devices.size(); ++n)
      if (!chosen || chosen->uses[n]) used.push_back(the_case.devices[n]);
    energy.joules = energy_of(block, used, &energy);
    energy.all_devices = energy_of(block, set);
    energy.host = block.counters.front().joules;
    if (energy.joules && given_.shape.ops > 0) energy.per_unit = *energy.joules / given_.shape.ops;
    const Case& alone = fastest_alone(in_set(given_.devices));
    if (energy.joules && alone.energy)
      if (const auto joules = energy_of(*alone.energy, alone.devices))
        energy.gain = *joules / *energy.joules;
    for (const TimeWindow& window : block.windows) energy.window += window.end - window.begin;
    energy.counters = block.counters;
    add_energy_warnings(run, block.windows, tracks_);
  }

  void setup(RunRecord& run, std::span<const std::size_t> set) const {
    run.setup.pin = pin_;
    for (const std::size_t i : set) {
      const Prepared& mine = group_.prepared[i];
      run.setup.build = std::max(run.setup.build, mine.cost.build);
      run.setup.alloc = std::max(run.setup.alloc, mine.cost.alloc);
      run.setup.upload = std::max(run.setup.upload, mine.upload);
    }
  }

  void measured(RunRecord& run, const Case& the_case, const std::vector<std::size_t>& set) const {
    run.samples = the_case.times;
    run.time = summarise(the_case.times);
    run.sample_runs = runs_of(the_case);
    // The sample shown is one of this run: the times of earlier runs' commands are not known.
    const std::size_t earlier = the_case.earlier_runs.size();
    run.sample_index =
        earlier + nearest_to(run.time.median, std::span(the_case.times).subspan(earlier));
    const RawSample& shown = the_case.samples[run.sample_index - earlier];
    run.timeline = timeline_of(shown, the_case, set);
    run.merge = run.timeline.merge_end - run.timeline.merge_begin;
    run.plan.decision = the_case.decisions[run.sample_index];
    plan(run, the_case, set);
    const double time = seconds(run.time.median);
    run.rate = time > 0 ? given_.shape.ops / time : 0;
    run.warnings.insert(run.warnings.end(), run.verify.found.warnings.begin(),
                        run.verify.found.warnings.end());
    for (auto& milestone : run.verify.found.milestones)
      milestone.time = run.time.median * milestone.rounds / given_.shape.rounds;
    const std::vector<DeviceParts> parts = device_parts(run.timeline);
    MetricsInput input;
    input.time = run.time.median;
    input.predicted = run.plan.predicted;
    for (const std::size_t i : set) input.alone.push_back(alone(i));
    if (const auto ceiling = ceiling_of_case(the_case); ceiling && time > 0) {
      run.work.ceiling = ceiling->kind;
      run.work.ceiling_time = from_seconds(ceiling->seconds);
      run.work.link = ceiling->link;
      input.roofline_fraction = ceiling->seconds / time;
    }
    run.metrics = compute_metrics(run.timeline, parts, input);
    if (run.metrics.worst_round_imbalance_percent)
      run.worst_round = round_imbalance(run.timeline)->worst_round;
    if (the_case.prediction.estimates.chain) add_chain(run);
    for (std::size_t k = 0; k < the_case.samples.size(); ++k)
      if (!the_case.samples[k].moves.empty())
        run.rebalances.push_back(rebalance_of(the_case, earlier + k, the_case.samples[k], set));
    add_migrations(run, the_case, set);
    const std::vector<double> slower = contention(the_case, set);
    const bool separate = !given_.simulated && std::none_of(set.begin(), set.end(), [&](auto i) {
      return given_.devices[i].facts.is_cpu();
    });
    run.bottleneck = find_bottleneck(run.timeline, {given_.shape.items, given_.shape.granularity,
                                                    input.alone, slower, separate});
    const std::vector<Nanos> slices = slice_totals(run.timeline);
    for (std::size_t n = 0; n < set.size(); ++n) {
      PerDevice& mine = run.per_device.emplace_back(per_device(run, the_case, parts[n], set[n]));
      if (parts[n].unknown.empty()) mine.slice_total = slices[n];
      if (set.size() > 1 && !slower.empty()) mine.contention = slower[n];
    }
    add_memory(run);
    for (std::size_t k = 0; k < earlier; ++k)
      for (std::size_t n = 0; n < set.size(); ++n)
        run.per_device[n].busy_samples.push_back(busy_earlier(the_case, k, set[n]));
    for (const RawSample& sample : the_case.samples) {
      const std::vector<DeviceParts> then = device_parts(timeline_of(sample, the_case, set));
      for (std::size_t n = 0; n < set.size(); ++n)
        run.per_device[n].busy_samples.push_back(
            then[n].unknown.empty() ? std::optional(then[n].busy) : std::nullopt);
    }
    std::vector<TimeWindow> windows(earlier);  // empty windows, which no reading is near
    for (const RawSample& sample : the_case.samples) windows.push_back({sample.begin, sample.end});
    add_telemetry(run, windows, tracks_, cpus_only(the_case));
    if (shown.migration) add_adaptations(run, the_case, windows);
  }

  // Returns the shares by participant of a case as shares by device of the set.
  static std::vector<Items> by_device(const Case& the_case, const std::vector<Items>& shares,
                                      std::span<const std::size_t> set) {
    std::vector<Items> all(set.size());
    for (std::size_t participant = 0;
         participant < std::min(shares.size(), the_case.devices.size()); ++participant) {
      const auto at = std::find(set.begin(), set.end(), the_case.devices[participant]);
      if (at != set.end()) all[static_cast<std::size_t>(at - set.begin())] = shares[participant];
    }
    return all;
  }

  // Adds the samples in which work changed its device, and the metrics of the one that is shown.
  void add_migrations(RunRecord& run, const Case& the_case,
                      std::span<const std::size_t> set) const {
    const std::size_t earlier = the_case.earlier_runs.size();
    // Items that another device computes are uploaded there, and not where they were at first.
    const double of_item = given_.mode.transfers() ? given_.cost.in_bytes : 0;
    for (std::size_t k = 0; k < the_case.samples.size(); ++k) {
      const RawSample& sample = the_case.samples[k];
      if (!sample.migration) continue;
      const auto& [items, sent, time] = *sample.migration;
      const Bytes bytes =
          given_.shape.rounds > 0
              ? sent
              : static_cast<Bytes>(std::llround(static_cast<double>(items) * of_item));
      if (items > 0)
        run.migrations.push_back(
            {earlier + k, by_device(the_case, sample.first_shares, set), items, bytes, time});
      if (earlier + k != run.sample_index || given_.shape.items == 0) continue;
      run.metrics.moved_share =
          static_cast<double>(items) / static_cast<double>(given_.shape.items);
      if (const Nanos whole = sample.makespan() * static_cast<std::int64_t>(set.size());
          whole > Nanos{})
        run.metrics.moving_share = items > 0 ? seconds(time) / seconds(whole) : 0;
    }
  }

  // Adds the devices that became slower in a sample, by --slow or by what telemetry shows.
  void add_adaptations(RunRecord& run, const Case& the_case,
                       std::span<const TimeWindow> windows) const {
    const std::size_t earlier = the_case.earlier_runs.size();
    std::vector<double> latencies;  // in milliseconds
    const auto add = [&](std::size_t k, std::uint32_t participant, std::string cause, Nanos at) {
      const auto& handovers = the_case.samples[k].handovers;
      const auto first = std::find_if(handovers.begin(), handovers.end(), [&](const Handover& one) {
        return one.from == DeviceIndex{participant} && one.at >= at;
      });
      AdaptationRecord& change = run.adaptations.emplace_back();
      change = {earlier + k, given_.devices[the_case.devices[participant]].facts.id,
                std::move(cause), at, std::nullopt};
      if (first == handovers.end()) return;
      change.latency = first->at - at;
      latencies.push_back(seconds(*change.latency) * 1e3);
    };
    for (std::size_t k = 0; k < the_case.samples.size(); ++k) {
      for (const SlowedDevice& slowed : the_case.samples[k].slowed)
        add(k, slowed.device.value, kSlowDownCause, slowed.at);
      for (std::uint32_t n = 0; n < the_case.devices.size(); ++n)
        for (const TelemetryTrack& track : tracks_) {
          if (track.of != given_.devices[the_case.devices[n]].facts.id) continue;
          if (const auto begun = throttling_begun(track, windows[earlier + k]))
            add(k, n,
                fmt::format("{}: {}", kThrottlingCause,
                            fmt::join(throttle_words(begun->throttle), ", ")),
                begun->at - windows[earlier + k].begin);
        }
    }
    if (!latencies.empty()) run.metrics.adaptation_ms = median(std::move(latencies));
  }

  static void add_memory(RunRecord& run) {
    double saved = 0;
    std::size_t known = 0;
    for (const PerDevice& mine : run.per_device) {
      if (mine.memory_used)
        run.metrics.memory_used = std::max(run.metrics.memory_used.value_or(0), *mine.memory_used);
      if (mine.memory_saved) saved += *mine.memory_saved, ++known;
    }
    if (known > 0 && known == run.per_device.size())
      run.metrics.memory_saved = saved / static_cast<double>(known);
  }

  static void add_chain(RunRecord& run) {
    run.chain = chain_phases(run.timeline);
    if (!run.chain || run.timeline.makespan <= Nanos{} || run.chain->busy <= Nanos{}) return;
    run.metrics.filling_share =
        seconds(run.chain->filling + run.chain->draining) / seconds(run.timeline.makespan);
    run.metrics.period_ratio = seconds(run.chain->period) / seconds(run.chain->busy);
  }

  // Returns the rebalances of a sample, whose shares are by participant, with shares by device of
  // the set.
  static RebalanceRecord rebalance_of(const Case& the_case, std::size_t number,
                                      const RawSample& sample, std::span<const std::size_t> set) {
    RebalanceRecord record{number, by_device(the_case, sample.first_shares, set), {}};
    for (const Rebalance& move : sample.moves)
      record.moves.push_back({move.round, by_device(the_case, move.shares, set)});
    return record;
  }

  // Returns the run of each of a case's times; empty if this is the first run.
  std::vector<std::uint32_t> runs_of(const Case& the_case) const {
    if (!given_.options.continued) return {};
    std::vector<std::uint32_t> runs = the_case.earlier_runs;
    runs.resize(the_case.times.size(), given_.options.continued->run);
    return runs;
  }

  // Returns the busy time of device i in sample k of earlier runs, by its own clock; none if the
  // value is impossible.
  static std::optional<Nanos> busy_earlier(const Case& the_case, std::size_t k, std::size_t i) {
    const auto at = std::find(the_case.devices.begin(), the_case.devices.end(), i);
    if (at == the_case.devices.end()) return Nanos{};
    constexpr Nanos slack = std::chrono::microseconds(100);  // as in impossible_stamps
    const Nanos busy =
        the_case.history[k].busy[static_cast<std::size_t>(at - the_case.devices.begin())];
    return busy >= Nanos{} && busy <= the_case.times[k] + slack ? std::optional(busy)
                                                                : std::nullopt;
  }

  // Returns the ceiling of the devices that share the case's work. None if one was not calibrated,
  // or is gone.
  std::optional<Ceiling> ceiling_of_case(const Case& the_case) const {
    const Calibration& known = given_.options.calibration;
    std::vector<DeviceCeiling> devices;
    LinkCeiling link;
    bool shared = false;  // memory is the host's: there is no link to it
    const std::size_t count = the_case.devices.size();
    for (const std::size_t i : the_case.devices) {
      if (i >= given_.ceilings.size() || !given_.ceilings[i]) return std::nullopt;
      const DeviceCeiling& ceiling = devices.emplace_back(*given_.ceilings[i]);
      link.up += ceiling.capability.pinned_up;
      link.down += ceiling.capability.pinned_down;
      const Device& facts = given_.devices[i].facts;
      shared |= facts.is_cpu() || facts.host_unified_memory;
    }
    if (known.link && known.link->knows(count)) {
      link.up = std::min(link.up, known.link->up.of(count));
      link.down = std::min(link.down, known.link->down.of(count));
    }
    if (given_.mode.transfers() && !shared) {
      const ItemCost& cost = given_.cost;
      const auto items = static_cast<double>(given_.shape.items);
      link.bytes_up = cost.in_bytes * items + static_cast<double>(cost.replicated * count);
      link.bytes_down = given_.mode.outputs_resident ? 0 : cost.out_bytes * items;
    }
    return ceiling_of(devices, link);
  }

  bool cpus_only(const Case& the_case) const {
    return std::all_of(the_case.devices.begin(), the_case.devices.end(),
                       [&](std::size_t i) { return given_.devices[i].facts.is_cpu(); });
  }

  void plan(RunRecord& run, const Case& the_case, const std::vector<std::size_t>& set) const {
    const auto& [estimates, chosen_plan, expected] = the_case.prediction;
    if (expected) run.plan.predicted = expected->makespan;
    const Shape& shape = given_.shape;
    if (the_case.devices == set) {  // the estimates of a device alone are only its own
      run.plan.estimates = estimates;
      run.plan.work = {shape.items, shape.granularity, given_.cost, shape.rounds};
    }
    if (!chosen_plan) return;
    PlanChosen& chosen = run.plan.chosen.emplace();
    chosen.strategy = chosen_plan->chosen.strategy->name;
    for (std::size_t n = 0; n < the_case.devices.size(); ++n) {
      if (chosen_plan->uses[n])
        chosen.devices.push_back(given_.devices[the_case.devices[n]].facts.id);
    }
    chosen.reasons = chosen_plan->reasons;
  }

  // Returns the predicted finish of device i of the session; none if nothing was predicted or the
  // case does not have it.
  static std::optional<Nanos> predicted_finish(const Case& the_case, std::size_t i) {
    const auto at = std::find(the_case.devices.begin(), the_case.devices.end(), i);
    const auto& expected = the_case.prediction.expected;
    if (!expected || at == the_case.devices.end()) return std::nullopt;
    return expected->devices[static_cast<std::size_t>(at - the_case.devices.begin())].finish;
  }

  PerDevice per_device(const RunRecord& run, const Case& the_case, const DeviceParts& parts,
                       std::size_t i) const {
    PerDevice mine;
    mine.device = given_.devices[i].facts.id;
    mine.alone = alone(i);
    if (i < in_set(given_.devices)) {
      mine.alone_samples = group_.cases[i].times;
      mine.alone_sample_runs = runs_of(group_.cases[i]);
    }
    mine.parts = parts;
    mine.share = run.work.items > 0
                     ? static_cast<double>(parts.items) / static_cast<double>(run.work.items)
                     : 0;
    mine.predicted = predicted_finish(the_case, i);
    mine.utilisation = run.timeline.makespan > Nanos{}
                           ? seconds(parts.compute) / seconds(run.timeline.makespan)
                           : 0;
    const Prepared& prepared = group_.prepared[i];
    mine.bytes_resident = prepared.cost.allocated;
    if (const Bytes peak = prepared.cost.memory.bytes; peak > 0) {
      mine.bytes_peak = peak;
      if (const Bytes all =
              limited(given_.devices[i].facts, given_.devices[i].handicap).global_memory;
          all > 0)
        mine.memory_used = static_cast<double>(peak) / static_cast<double>(all);
    }
    // Counts buffers that the workload does not plan, as those of exchanges, as needed alone, too.
    if (mine.bytes_resident > 0 && prepared.alone_bytes > 0 && prepared.capacity.resident > 0) {
      const double more = static_cast<double>(prepared.alone_bytes) -
                          static_cast<double>(prepared.capacity.resident);
      mine.memory_saved = more / (static_cast<double>(mine.bytes_resident) + more);
    }
    if (given_.devices[i].handicap.keeps_freed)
      mine.pool = {prepared.cost.memory.reused, prepared.cost.memory.evicted};
    const auto& took_part = the_case.devices;
    if (i < given_.ceilings.size() && given_.ceilings[i] && given_.ceilings[i]->demand.any() &&
        std::find(took_part.begin(), took_part.end(), i) != took_part.end())
      mine.demand = given_.ceilings[i]->demand;
    if (!group_.prepared[i].kernel_variant.empty())
      mine.kernel_variant = group_.prepared[i].kernel_variant;
    return mine;
  }

  // Returns by device how many times as long an item took its probe with the others at work as
  // without them. Empty if that is not known, as for work whose items cost more the more there are.
  std::vector<double> contention(const Case& the_case, std::span<const std::size_t> set) const {
    const auto& together = the_case.prediction.estimates.devices;
    if (given_.shape.superlinear || !std::ranges::equal(the_case.devices, set) ||
        together.size() != set.size())
      return {};
    std::vector<double> all;
    for (std::size_t n = 0; n < set.size(); ++n) {
      if (set[n] >= in_set(given_.devices)) return {};
      const auto& alone = group_.cases[set[n]].prediction.estimates.devices;
      if (alone.size() != 1 || together[n].items_per_s <= 0) return {};
      all.push_back(alone.front().items_per_s / together[n].items_per_s);
    }
    return all;
  }

  std::vector<ClockMap> clocks_of(std::span<const std::size_t> devices) const {
    std::vector<ClockMap> clocks;
    for (const std::size_t i : devices) clocks.push_back(group_.prepared[i].clock);
    return clocks;
  }

  // Returns a timeline of all devices of the row, even if a device alone ran: the others were idle.
  Timeline timeline_of(const RawSample& sample, const Case& the_case,
                       const std::vector<std::size_t>& set) const {
    Timeline timeline = to_timeline(sample, clocks_of(the_case.devices));
    if (!the_case.alone()) return timeline;
    const auto at = std::find(set.begin(), set.end(), the_case.devices.front()) - set.begin();
    const DeviceIndex self{static_cast<std::uint32_t>(at)};
    for (auto& command : timeline.commands) command.device = self;
    for (auto& span : timeline.spans) span.device = self;
    for (auto& slice : timeline.slices) slice.device = self;
    if (timeline.merged_on) timeline.merged_on = self;
    timeline.devices = set.size();
    std::vector<Nanos> uncertainty(set.size());
    uncertainty[self.value] = timeline.uncertainty.front();
    timeline.uncertainty = std::move(uncertainty);
    for (std::uint32_t i = 0; i < set.size(); ++i) {
      if (i != self.value)
        timeline.spans.push_back({DeviceIndex{i}, HostState::idle, Nanos{}, timeline.makespan});
    }
    return timeline;
  }

  const GroupResult& group_;
  const RecordedGroup& given_;
  Nanos pin_;
  std::span<const TelemetryTrack> tracks_;
};

}  // namespace

RecordedGroup recorded(const GroupRequest& request) {
  RecordedGroup group{request.options,
                      request.problem,
                      request.mode,
                      request.workload.shape(),
                      cost_of(request.workload, request.mode),
                      request.devices,
                      {},
                      false};
  const auto& known = request.options.calibration.devices;
  for (std::size_t i = 0; i < request.devices.size(); ++i) {
    std::optional<DeviceCeiling>& ceiling = group.ceilings.emplace_back();
    if (OpenDevice* const open = request.devices[i].open.get(); open != nullptr)
      ceiling = {i < known.size() && known[i] ? *known[i] : Capability{},
                 request.workload.demand(open->resources().traits())};
  }
  return group;
}

std::vector<RunRecord> record_group(const GroupResult& group, const RecordedGroup& of,
                                    Nanos setup_pin, std::span<const TelemetryTrack> tracks) {
  return Recorder(group, of, setup_pin, tracks).all();
}

}  // namespace mgpu
