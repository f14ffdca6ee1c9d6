// See the header. Reads in the order of the run: prepare, warm up, probe and predict, sample in turn, verify.
#include "lib/session/group.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "lib/session/forecast.hpp"
#include "lib/session/keep.hpp"
#include "lib/session/suite_rates.hpp"
#include "lib/session/time_left.hpp"
#include "lib/session/verification.hpp"
#include "lib/session/wakefulness.hpp"

namespace mgpu {
namespace {

constexpr std::size_t kTurnsOfCpus = 20;  // medians of six lay 8 % apart
constexpr unsigned kClockProbes = 100;    // before and after; the tightest counts: 12 us of uncertainty with 200 on an H200

class Group {
 public:
  Group(Backend& backend, Executor& executor, const SessionOptions& options, const Problem& problem, Mode mode, Workload& workload,
        std::vector<SessionDevice>& devices, const SuiteRates& rates, std::string& digest, std::optional<Nanos> give_up_at,
        SessionObserver& observer)
      : backend_(backend),
        executor_(executor),
        options_(options),
        problem_(problem),
        mode_(mode),
        workload_(workload),
        devices_(devices),
        rates_(rates),
        verification_(workload, options, digest, observer),
        give_up_at_(give_up_at),
        observer_(observer),
        wakefulness_(devices.size()) {}

  GroupResult run() {
    make_cells();
    tell();
    prepare();
    warm_up(true);
    probe();
    predict();
    warm_up(false);
    sample_in_turn();
    finish();
    return std::move(result_);
  }

 private:
  void make_cells();
  void prepare();
  void prepare_device(std::size_t index);
  void lose(std::size_t index, const std::string& why, bool hung);
  void close_impossible_cells();
  void warm_up(bool alone);
  void probe();
  Probe probe_together(std::size_t first, std::size_t count);
  void estimate(Cell& cell, const Probe& together);
  void predict();
  void sample_in_turn();
  void tell() { observer_.progress(progress_of(result_.cells, problem_, mode_, options_.stop)); }
  void take_sample(Cell& cell, bool counts);
  void note_faults(Cell& cell, const RawSample& sample);
  void check(Cell& cell, bool thorough);
  void publish(const Cell& cell);
  void fail(Cell& cell, const std::string& reason);
  bool stopped();
  void finish();

  Backend& backend_;
  Executor& executor_;
  const SessionOptions& options_;
  const Problem& problem_;
  Mode mode_;
  Workload& workload_;
  std::vector<SessionDevice>& devices_;
  const SuiteRates& rates_;
  Verification verification_;
  std::optional<Nanos> give_up_at_;
  SessionObserver& observer_;
  GroupResult result_;
  Wakefulness wakefulness_;
};

void Group::make_cells() {
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    Cell cell;
    cell.first = i;
    cell.count = 1;
    result_.cells.push_back(std::move(cell));
  }
  for (const std::size_t count : options_.device_counts) {
    for (const StrategyChoice& choice : options_.strategies) {
      if (choice.info->name == "single") continue;  // its samples are those of the fastest device alone
      Cell cell;
      cell.choice = &choice;
      cell.count = count;
      result_.cells.push_back(std::move(cell));
    }
  }
}

void Group::prepare() {
  result_.prepared.resize(devices_.size());
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (!devices_[i].lost) prepare_device(i);
  }
  close_impossible_cells();
}

void Group::prepare_device(std::size_t index) {
  Prepared& mine = result_.prepared[index];
  OpenDevice& device = *devices_[index].open;
  mine.capacity = workload_.capacity(device.resources().traits(), mode_);
  if (mine.capacity.fits == 0) return;
  device.take_setup_cost();
  try {
    mine.program = workload_.program(device.resources(), DeviceIndex{static_cast<std::uint32_t>(index)}, mode_, mine.capacity);
    mine.cost = device.take_setup_cost();
    mine.way = mine.program->way();
    mine.program->self_test(device.stream());
    settle(backend_, device, device.submit(), options_.case_timeout);
    mine.program->self_tested();
    if (mode_ != Mode::end_to_end) {
      const Nanos begin = backend_.now();
      mine.program->load(device.stream());
      settle(backend_, device, device.submit(), options_.case_timeout);
      mine.upload = backend_.now() - begin;
    }
    mine.before = device.probe_clock(kClockProbes);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::out_of_memory && error.kind() != ErrorKind::unsupported)
      lose(index, error.what(), error.kind() == ErrorKind::timeout);
    mine.program.reset();  // after lose(), which keeps the buffers of a device that hangs
    mine.capacity.fits = 0;
    mine.capacity.reason = error.what();
  }
}

void Group::lose(std::size_t index, const std::string& why, bool hung) {
  SessionDevice& device = devices_[index];
  if (device.lost) return;
  device.lost = true;
  device.hung = hung;
  device.lost_why = why;
  say_lost(device, observer_);
  if (!hung) return;
  // Releasing handles of a device that hangs can block for ever: they are leaked, and the process leaves by _Exit.
  keep_for_ever(std::move(device.open));
  keep_for_ever(std::move(result_.prepared[index].program));
}

// Cells whose devices cannot do this: unsupported when the problem does not fit, skipped when a device is lost.
void Group::close_impossible_cells() {
  for (Cell& cell : result_.cells) {
    if (cell.closed) continue;
    for (std::size_t i = cell.first; i < cell.first + cell.count; ++i) {
      const bool lost = devices_[i].lost;
      if (!lost && result_.prepared[i].program) continue;
      cell.closed = true;
      if (!cell.samples.empty()) break;  // what was measured before the device was lost stands
      cell.status = lost ? Status::skipped : Status::unsupported;
      cell.reason =
          "device " + devices_[i].facts.id + ": " + (lost ? "lost, " + devices_[i].lost_why : result_.prepared[i].capacity.reason);
      break;
    }
  }
}

// Uncounted executions: kernels are built for good, memory is touched. Devices alone get one at least, and first: probes follow.
void Group::warm_up(bool alone) {
  for (Cell& cell : result_.cells) {
    if (cell.alone() != alone) continue;
    const std::size_t times = std::max<std::size_t>(options_.stop.warmup, alone ? 1 : 0);
    for (std::size_t n = 0; n < times && !cell.closed; ++n) {
      if (stopped()) return;
      take_sample(cell, false);
    }
  }
}

// Each device alone, then the first n of every count asked for at once: CPU cores slow each other down, GPUs share the host link.
void Group::probe() {
  if (options_.stated) {  // the rates are given
    for (Cell& cell : result_.cells) estimate(cell, {});
    return;
  }
  std::map<std::size_t, Probe> together;
  for (std::size_t i = 0; i < devices_.size(); ++i) result_.prepared[i].probe = probe_together(i, 1);
  for (const std::size_t count : options_.device_counts) {
    if (count > 1 && !together.contains(count)) together[count] = probe_together(0, count);
  }
  for (Cell& cell : result_.cells) estimate(cell, cell.count == 1 ? result_.prepared[cell.first].probe : together[cell.count]);
}

Probe Group::probe_together(std::size_t first, std::size_t count) {
  std::vector<Member> members;
  ProbeSize size;
  size.most = std::numeric_limits<Items>::max();
  size.turns = kTurnsOfCpus;
  for (std::size_t i = first; i < first + count; ++i) {
    if (devices_[i].lost || !result_.prepared[i].program) return {};
    members.push_back({devices_[i].open.get(), result_.prepared[i].program.get()});
    size.most = std::min(size.most, result_.prepared[i].capacity.pipeline);
  }
  workload_.expect(count);  // which decides what an item costs
  const auto& known = options_.calibration.devices;
  for (std::size_t i = first; i < first + count; ++i) {
    const auto rate = rates_.find({work_of(problem_), devices_[i].facts.id});
    size.known.push_back(known_costs(devices_[i], i < known.size() && known[i] ? &*known[i] : nullptr,
                                     rate == rates_.end() ? nullptr : &rate->second, workload_, mode_, count, devices_.size()));
  }
  if (stopped()) return {};
  Probe probe = run_probe(backend_, executor_, workload_, members, size, options_.case_timeout);
  for (const DeviceFault& fault : probe.faults) lose(first + fault.device.value, fault.what, fault.hung);
  if (!probe.faults.empty()) close_impossible_cells();
  return probe;
}

void Group::estimate(Cell& cell, const Probe& together) {
  estimate_cell(cell, together, workload_, mode_, devices_, result_.prepared, options_.calibration,
                options_.stated ? &*options_.stated : nullptr);
}

void Group::predict() {
  for (Cell& cell : result_.cells) {
    if (cell.closed) continue;
    const Nanos begin = backend_.now();
    choose_cell(cell, workload_, mode_);
    if (cell.chosen) cell.choosing = backend_.now() - begin;
    predict_cell(cell, workload_, mode_);
  }
}

// Round after round, every second one backwards, so that a drift of the machine hits all cells alike.
void Group::sample_in_turn() {
  std::vector<std::size_t> order(result_.cells.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  constexpr std::size_t kEveryRound = 64, kThenOneIn = 16;  // progress is worked out of all samples so far
  std::size_t round = 0;
  for (bool open = true; open; std::reverse(order.begin(), order.end()), ++round) {
    open = false;
    for (const std::size_t index : order) {
      Cell& cell = result_.cells[index];
      if (cell.closed) continue;
      if (stopped()) return;
      if (!backend_.is_virtual() && wakefulness_.sleeps(cell, backend_.now())) take_sample(cell, false);
      if (cell.closed) continue;
      take_sample(cell, true);
      if (!cell.closed && options_.stop.satisfied(cell.times)) {
        check(cell, true);  // the last of a cell as thoroughly as its first
        cell.closed = true;
      }
      open = true;
    }
    if (round < kEveryRound || round % kThenOneIn == 0) tell();
  }
}

void Group::take_sample(Cell& cell, bool counts) {
  SampleRequest request;
  for (std::size_t i = cell.first; i < cell.first + cell.count; ++i) {
    request.members.push_back({devices_[i].open.get(), result_.prepared[i].program.get()});
  }
  if (cell.estimates.empty()) estimate(cell, {});  // before the probes
  request.merge_device = fastest_of(cell.estimates);
  request.workload = &workload_;
  request.timeout = options_.case_timeout;
  const PlanRequest plan = request_of(cell, workload_, mode_);
  std::unique_ptr<SliceSource> source;
  const Nanos begin = backend_.now();
  try {
    source = begin_cell(cell, plan);
  } catch (const Error& error) {
    cell.status = Status::unsupported;
    cell.reason = error.what();
    cell.closed = true;
    return;
  }
  const Nanos begun = backend_.now() - begin;
  request.source = source.get();
  RawSample sample = executor_.run(request);
  wakefulness_.used(sample, cell.first);
  note_faults(cell, sample);
  if (sample.failure) return fail(cell, sample.failure->what());
  const bool first = cell.verify.method.empty();
  if (counts) {
    cell.history.push_back(share_of(sample, cell.count));
    cell.history.back().first = source->first_shares();
    cell.times.push_back(sample.makespan());
    cell.decisions.push_back(cell.choosing + begun + sample.decision);
    cell.samples.push_back(std::move(sample));
  }
  check(cell, first);
}

void Group::note_faults(Cell& cell, const RawSample& sample) {
  for (const DeviceFault& fault : sample.faults) {
    const std::size_t index = cell.first + fault.device.value;
    cell.faults.push_back({devices_[index].facts.id, fault.what, fault.items_lost});
    lose(index, fault.what, fault.hung);
  }
  if (!sample.faults.empty()) close_impossible_cells();
}

// A case whose result is wrong has no numbers, as one without a result.
void Group::check(Cell& cell, bool thorough) {
  if (const auto wrong = verification_.check(cell.verify, thorough, [&] { publish(cell); })) fail(cell, *wrong);
}

void Group::publish(const Cell& cell) {
  for (std::size_t i = cell.first; i < cell.first + cell.count; ++i) {
    if (devices_[i].lost) continue;
    OpenDevice& device = *devices_[i].open;
    result_.prepared[i].program->publish(device.stream());
    settle(backend_, device, device.submit(), options_.case_timeout);
    result_.prepared[i].program->published();
  }
}

void Group::fail(Cell& cell, const std::string& reason) {
  cell.status = Status::failed;
  cell.reason = reason;
  cell.closed = true;
  cell.samples.clear();
  cell.times.clear();
  cell.decisions.clear();
}

bool Group::stopped() {
  const bool late = give_up_at_ && backend_.now() >= *give_up_at_;
  const bool asked = observer_.stop_requested();
  if (!late && !asked) return false;
  result_.interrupted = asked;
  for (Cell& cell : result_.cells) {
    cell.closed = true;
    if (!cell.samples.empty() || cell.status != Status::ok) continue;
    cell.status = Status::skipped;
    cell.reason = asked ? "interrupted before its first sample" : "the time limit was reached before its first sample";
  }
  return true;
}

void Group::finish() {
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    Prepared& mine = result_.prepared[i];
    if (devices_[i].lost || !mine.program) continue;
    mine.after = devices_[i].open->probe_clock(kClockProbes);
    mine.clock = fit_clock(mine.before, mine.after);
    mine.program.reset();
  }
}

}  // namespace

void say_lost(const SessionDevice& device, SessionObserver& observer) {
  observer.warning("device " + device.facts.id + " " + device.facts.name + " is out: " + device.lost_why);
}

GroupResult run_group(Backend& backend, Executor& executor, const SessionOptions& options, const Problem& problem, Mode mode,
                      Workload& workload, std::vector<SessionDevice>& devices, const SuiteRates& rates, std::string& digest,
                      std::optional<Nanos> give_up_at, SessionObserver& observer) {
  return Group(backend, executor, options, problem, mode, workload, devices, rates, digest, give_up_at, observer).run();
}

}  // namespace mgpu
