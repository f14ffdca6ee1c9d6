// See the header.
#include "lib/session/recorder.hpp"

#include <algorithm>
#include <charconv>

#include "lib/session/ceiling.hpp"
#include "lib/session/suite_rates.hpp"
#include "lib/session/watch.hpp"

namespace mgpu {
namespace {

std::size_t nearest_to(Nanos median, std::span<const Nanos> times) {
  const auto distance = [&](Nanos t) { return t > median ? t - median : median - t; };
  const auto at = std::min_element(times.begin(), times.end(), [&](Nanos a, Nanos b) { return distance(a) < distance(b); });
  return static_cast<std::size_t>(at - times.begin());
}

class Recorder {
 public:
  Recorder(const GroupResult& group, const SessionOptions& options, const Problem& problem, Mode mode, const Workload& workload,
           std::span<const SessionDevice> devices, Nanos pin, std::span<const TelemetryTrack> tracks)
      : group_(group),
        options_(options),
        problem_(problem),
        mode_(mode),
        workload_(workload),
        devices_(devices),
        pin_(pin),
        tracks_(tracks) {}

  std::vector<RunRecord> all() const {
    std::vector<RunRecord> records;
    std::size_t next = devices_.size();  // cells after those of single devices are in the order asked for
    for (const std::size_t count : options_.device_counts) {
      for (const StrategyChoice& choice : options_.strategies) {
        const Cell& cell = choice.info->name == "single" ? fastest_alone(count) : group_.cells[next++];
        records.push_back(record(cell, choice, count));
      }
    }
    return records;
  }

 private:
  // The alone cell of least median among the first `count` devices; the first one when none has samples.
  const Cell& fastest_alone(std::size_t count) const {
    const Cell* best = &group_.cells.front();
    for (std::size_t i = 1; i < count; ++i) {
      const Cell& cell = group_.cells[i];
      if (cell.times.empty()) continue;
      if (best->times.empty() || summarise(cell.times).median < summarise(best->times).median) best = &cell;
    }
    return *best;
  }

  std::optional<Nanos> alone(std::size_t device) const {
    const Cell& cell = group_.cells[device];
    if (cell.times.empty()) return std::nullopt;
    return summarise(cell.times).median;
  }

  RunRecord record(const Cell& cell, const StrategyChoice& choice, std::size_t count) const {
    RunRecord run;
    run.suite = problem_.suite->name;
    run.params[problem_.suite->size_name] = static_cast<std::int64_t>(problem_.params.size);
    for (const auto& [name, value] : problem_.params.options) run.params[name] = value;
    for (const SuiteOption& option : problem_.suite->options) {
      const auto given = problem_.params.options.find(option.name);
      if (option.kind != SuiteOption::Kind::count || given == problem_.params.options.end()) continue;
      std::int64_t value = 0;
      const std::string& text = given->second;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error == std::errc() && end == text.data() + text.size()) run.params[option.name] = value;
    }
    if (problem_.params.input) {
      std::string files = problem_.params.input->string();
      for (const auto& file : problem_.params.more_inputs) files += "," + file.string();
      run.params["input"] = files;
    } else {
      run.params["seed"] = static_cast<std::int64_t>(problem_.params.seed);
    }
    run.strategy = choice.info->name;
    for (const StrategyParam& param : choice.info->params) {
      const double value = choice.params.at(param.name);
      run.strategy_params[param.name] = param.choices.empty() ? ParamValue(value) : ParamValue(param.text(value));
    }
    for (std::size_t i = 0; i < count; ++i) run.devices.push_back(devices_[i].facts.id);
    run.mode = mode_;
    run.status = cell.status;
    if (cell.status != Status::ok) run.reason = cell.reason;
    run.verify = cell.verify;
    run.faults = cell.faults;
    const Shape& shape = workload_.shape();
    run.work = {shape.items, shape.ops, shape.bytes_in, shape.bytes_out};
    run.rate_unit = shape.rate_unit;
    if (const auto noise = options_.noise.find(work_of(problem_)); noise != options_.noise.end()) run.noise_floor = noise->second;
    setup(run, count);
    if (!cell.times.empty()) measured(run, cell, count);
    return run;
  }

  void setup(RunRecord& run, std::size_t count) const {
    run.setup.pin = pin_;
    for (std::size_t i = 0; i < count; ++i) {
      const Prepared& mine = group_.prepared[i];
      run.setup.build = std::max(run.setup.build, mine.cost.build);
      run.setup.alloc = std::max(run.setup.alloc, mine.cost.alloc);
      run.setup.upload = std::max(run.setup.upload, mine.upload);
    }
  }

  void measured(RunRecord& run, const Cell& cell, std::size_t count) const {
    run.samples = cell.times;
    run.time = summarise(cell.times);
    run.sample_index = nearest_to(run.time.median, cell.times);
    const RawSample& shown = cell.samples[run.sample_index];
    run.timeline = timeline_of(shown, cell, count);
    run.merge = run.timeline.merge_end - run.timeline.merge_begin;
    run.plan.decision = cell.decisions[run.sample_index];
    plan(run, cell);
    const double time = seconds(run.time.median);
    run.rate = time > 0 ? workload_.shape().ops / time : 0;
    const std::vector<DeviceParts> parts = device_parts(run.timeline);
    MetricsInput input;
    input.time = run.time.median;
    input.predicted = run.plan.predicted;
    for (std::size_t i = 0; i < count; ++i) input.alone.push_back(alone(i));
    if (const auto ceiling = ceiling_of_cell(cell); ceiling && time > 0) {
      run.work.ceiling = ceiling->kind;
      input.ceiling_share = ceiling->seconds / time;
    }
    run.metrics = compute_metrics(run.timeline, parts, input);
    run.bottleneck = find_bottleneck(run.timeline);
    for (std::size_t i = 0; i < count; ++i) run.per_device.push_back(per_device(run, cell, parts[i], i));
    for (const RawSample& sample : cell.samples) {
      const std::vector<DeviceParts> then = device_parts(timeline_of(sample, cell, count));
      for (std::size_t i = 0; i < count; ++i) run.per_device[i].busy_samples.push_back(then[i].busy);
    }
    std::vector<TimeWindow> windows;
    for (const RawSample& sample : cell.samples) windows.push_back({sample.begin, sample.end});
    add_telemetry(run, windows, tracks_, cpus_only(cell));
  }

  // Of the devices that share the cell's work. None where one was not calibrated, or is gone.
  std::optional<Ceiling> ceiling_of_cell(const Cell& cell) const {
    const Calibration& known = options_.calibration;
    std::vector<DeviceCeiling> devices;
    LinkCeiling link;
    bool cpu = false;  // copies with its cores: no link
    for (std::size_t i = cell.first; i < cell.first + cell.count; ++i) {
      if (i >= known.devices.size() || !known.devices[i] || !devices_[i].open) return std::nullopt;
      devices.push_back({*known.devices[i], workload_.demand(devices_[i].open->resources().traits())});
      link.up += known.devices[i]->pinned_up;
      link.down += known.devices[i]->pinned_down;
      cpu |= devices_[i].facts.is_cpu();
    }
    if (known.link && known.link->knows(cell.count)) {
      link.up = std::min(link.up, known.link->up.of(cell.count));
      link.down = std::min(link.down, known.link->down.of(cell.count));
    }
    if (mode_ != Mode::resident && !cpu) {
      const ItemCost cost = workload_.cost(mode_);
      const auto items = static_cast<double>(workload_.shape().items);
      link.bytes_up = cost.in_bytes * items + static_cast<double>(cost.replicated * cell.count);
      link.bytes_down = mode_ == Mode::end_to_end ? cost.out_bytes * items : 0;
    }
    return ceiling_of(devices, link);
  }

  bool cpus_only(const Cell& cell) const {
    const auto first = devices_.begin() + static_cast<std::ptrdiff_t>(cell.first);
    return std::all_of(first, first + static_cast<std::ptrdiff_t>(cell.count), [](const auto& d) { return d.facts.is_cpu(); });
  }

  void plan(RunRecord& run, const Cell& cell) const {
    if (cell.predicted) run.plan.predicted = cell.predicted->makespan;
    const Shape& shape = workload_.shape();
    if (cell.first == 0 && cell.count == run.devices.size()) {  // a device alone was told of itself only
      run.plan.estimates = cell.estimates;
      const ItemCost cost = workload_.cost(mode_);
      run.plan.request = {shape.items,     shape.granularity, cost.in_bytes,  cost.out_bytes,
                          cost.replicated, cell.link_up,      cell.link_down, cell.merge};
    }
    if (!cell.chosen) return;
    PlanChosen& chosen = run.plan.chosen.emplace();
    chosen.strategy = cell.chosen->chosen.strategy->name;
    for (std::size_t i = 0; i < cell.count; ++i) {
      if (cell.chosen->uses[i]) chosen.devices.push_back(devices_[cell.first + i].facts.id);
    }
    chosen.reasons = cell.chosen->reasons;
  }

  // When device i of the record was to be done; none where nothing was predicted or the cell does not have it.
  static std::optional<Nanos> predicted_finish(const Cell& cell, std::size_t i) {
    if (!cell.predicted || i < cell.first || i >= cell.first + cell.count) return std::nullopt;
    return cell.predicted->devices[i - cell.first].finish;
  }

  PerDevice per_device(const RunRecord& run, const Cell& cell, const DeviceParts& parts, std::size_t i) const {
    PerDevice mine;
    mine.device = devices_[i].facts.id;
    mine.alone = alone(i);
    mine.alone_samples = group_.cells[i].times;
    mine.parts = parts;
    mine.share = run.work.items > 0 ? static_cast<double>(parts.items) / static_cast<double>(run.work.items) : 0;
    mine.predicted = predicted_finish(cell, i);
    mine.utilisation = run.timeline.makespan > Nanos{} ? seconds(parts.compute) / seconds(run.timeline.makespan) : 0;
    mine.bytes_resident = group_.prepared[i].cost.allocated;
    if (!group_.prepared[i].way.empty()) mine.way = group_.prepared[i].way;
    return mine;
  }

  // Of `count` devices, though a device alone ran without the others: those were idle.
  Timeline timeline_of(const RawSample& sample, const Cell& cell, std::size_t count) const {
    std::vector<ClockMap> clocks;
    for (std::size_t i = cell.first; i < cell.first + cell.count; ++i) clocks.push_back(group_.prepared[i].clock);
    Timeline timeline = to_timeline(sample, clocks);
    if (!cell.alone()) return timeline;
    const DeviceIndex self{static_cast<std::uint32_t>(cell.first)};
    for (auto& command : timeline.commands) command.device = self;
    for (auto& span : timeline.spans) span.device = self;
    for (auto& slice : timeline.slices) slice.device = self;
    if (timeline.merged_on) timeline.merged_on = self;
    timeline.devices = count;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (i != self.value) timeline.spans.push_back({DeviceIndex{i}, HostState::idle, Nanos{}, timeline.makespan});
    }
    return timeline;
  }

  const GroupResult& group_;
  const SessionOptions& options_;
  const Problem& problem_;
  Mode mode_;
  const Workload& workload_;
  std::span<const SessionDevice> devices_;
  Nanos pin_;
  std::span<const TelemetryTrack> tracks_;
};

}  // namespace

std::vector<RunRecord> record_group(const GroupResult& group, const SessionOptions& options, const Problem& problem, Mode mode,
                                    const Workload& workload, std::span<const SessionDevice> devices, Nanos setup_pin,
                                    std::span<const TelemetryTrack> tracks) {
  return Recorder(group, options, problem, mode, workload, devices, setup_pin, tracks).all();
}

}  // namespace mgpu
