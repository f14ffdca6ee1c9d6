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
constexpr std::size_t kFewest = 3;        // samples that stand, when a device of the case is lost
constexpr unsigned kMostFailures = 3;     // of a device, after which it is not opened again
constexpr Nanos kLeastPatience = std::chrono::seconds(60);
constexpr double kPatience = 20;  // times what was predicted

const char* kind_of(ErrorKind kind) {
  return kind == ErrorKind::timeout ? "hang" : kind == ErrorKind::out_of_memory ? "out_of_memory" : "error";
}

class Group {
 public:
  Group(Backend& backend, Executor& executor, const SessionOptions& options, const Problem& problem, Mode mode, Workload& workload,
        std::vector<SessionDevice>& devices, const SuiteRates& rates, Digests& digests, std::optional<Nanos> give_up_at,
        SessionObserver& observer)
      : backend_(backend),
        executor_(executor),
        options_(options),
        problem_(problem),
        mode_(mode),
        workload_(workload),
        devices_(devices),
        in_set_(options.devices.size()),
        rates_(rates),
        digests_(digests),
        verification_(workload, options, digests),
        give_up_at_(give_up_at),
        observer_(observer),
        wakefulness_(devices.size()) {}

  GroupResult run() {
    make_cells();
    tell();
    prepare();
    phase_ = "warm_up";
    warm_up(true);
    phase_ = "probe";
    probe();
    predict();
    phase_ = "warm_up";
    warm_up(false);
    phase_ = "sample";
    sample_in_turn();
    settle_digests();
    finish();
    return std::move(result_);
  }

 private:
  void make_cells();
  void prepare();
  void open_again();
  void prepare_device(std::size_t index);
  void lose(std::size_t index, ErrorKind kind, const std::string& what);
  void refuse(std::size_t index, const std::string& why);
  void leak(std::size_t index);
  bool is_usable(std::size_t index) const { return !devices_[index].lost && result_.prepared[index].program != nullptr; }
  std::optional<std::size_t> stand_in(const Cell& cell);
  void close_unsupported_cells();
  void shrink_cells();
  void shrink(Cell& cell);
  void warm_up(bool alone);
  void probe();
  Probe probe_together(std::size_t first, std::size_t count);
  void estimate(Cell& cell, const Probe& together);
  void predict();
  void predict(Cell& cell);
  void sample_in_turn();
  void tell() { observer_.progress(progress_of(result_.cells, problem_, mode_, options_.stop)); }
  Member member(std::size_t index);
  Nanos patience(const Cell& cell) const;
  void take_sample(Cell& cell, bool counts);
  void take_disturbed(Cell& cell, RawSample sample, std::vector<std::size_t> devices);
  void note_faults(Cell& cell, const RawSample& sample, std::span<const std::size_t> devices);
  Verification::Outcome check(Cell& cell, bool thorough, std::span<const std::size_t> devices);
  bool publish(std::span<const std::size_t> devices);
  void fail(Cell& cell, const std::string& reason);
  void fail_wrong(Cell& cell, const std::string& reason);
  std::string ids_of(std::span<const std::size_t> devices) const;
  bool stopped();
  void settle_digests();
  void finish();

  Backend& backend_;
  Executor& executor_;
  const SessionOptions& options_;
  const Problem& problem_;
  Mode mode_;
  Workload& workload_;
  std::vector<SessionDevice>& devices_;
  const std::size_t in_set_;  // devices; what follows them is in reserve
  const SuiteRates& rates_;
  Digests& digests_;
  Verification verification_;
  std::optional<Nanos> give_up_at_;
  SessionObserver& observer_;
  GroupResult result_;
  Wakefulness wakefulness_;
  std::string phase_ = "set_up";  // for faults
};

void Group::make_cells() {
  const auto add = [&](const StrategyChoice* choice, std::size_t first, std::size_t count) {
    Cell& cell = result_.cells.emplace_back();
    cell.choice = choice;
    cell.devices.resize(count);
    std::iota(cell.devices.begin(), cell.devices.end(), first);
    cell.asked = count;
  };
  for (std::size_t i = 0; i < in_set_; ++i) add(nullptr, i, 1);
  for (const std::size_t count : options_.device_counts) {
    for (const StrategyChoice& choice : options_.strategies) {
      // The samples of `single` are those of the fastest device alone.
      if (choice.info->name != "single") add(&choice, 0, count);
    }
  }
}

void Group::prepare() {
  result_.prepared.resize(devices_.size());
  open_again();
  for (std::size_t i = 0; i < in_set_; ++i) {
    if (!devices_[i].lost) prepare_device(i);
  }
  close_unsupported_cells();
  shrink_cells();
}

// A device that failed in an earlier group gets a new context, but one that hung, or fails again and again.
void Group::open_again() {
  for (std::size_t i = 0; i < in_set_; ++i) {
    SessionDevice& device = devices_[i];
    if (!device.lost || device.hung || device.failures == 0 || device.failures >= kMostFailures) continue;
    try {
      device.open = backend_.open(device.facts, device.handicap);
      device.free_memory = device.open->free_memory();
      device.lost = false;
      observer_.warning("device " + device.facts.id + " " + device.facts.name + " was opened again, after: " + device.lost_why);
    } catch (const Error& error) {
      ++device.failures;
      device.lost_why = error.what();
    }
  }
}

void Group::prepare_device(std::size_t index) {
  Prepared& mine = result_.prepared[index];
  OpenDevice& device = *devices_[index].open;
  const Nanos limit = options_.case_timeout.value_or(kLeastPatience);
  bool enqueued = false;
  try {
    mine.capacity = workload_.capacity(device.resources().traits(), mode_);
    if (mine.capacity.fits == 0) return;
    device.take_setup_cost();
    mine.program = workload_.program(device.resources(), DeviceIndex{static_cast<std::uint32_t>(index)}, mode_, mine.capacity);
    mine.cost = device.take_setup_cost();
    mine.way = mine.program->way();
    enqueued = true;
    mine.program->self_test(device.stream());
    settle(backend_, device, device.submit(), limit);
    mine.program->self_tested();
    if (mode_ != Mode::end_to_end) {
      const Nanos begin = backend_.now();
      mine.program->load(device.stream());
      settle(backend_, device, device.submit(), limit);
      mine.upload = backend_.now() - begin;
    }
    mine.before = device.probe_clock(kClockProbes);
  } catch (const Error& error) {
    const bool refused = error.kind() == ErrorKind::out_of_memory || error.kind() == ErrorKind::unsupported;
    if (!refused) {
      lose(index, error.kind(), error.what());
      result_.faults.push_back({devices_[index].facts.id, kind_of(error.kind()), "set_up", error.what()});
    } else if (enqueued && error.kind() == ErrorKind::out_of_memory) {
      refuse(index, error.what());  // what was enqueued before may still be under way
    }
    mine.program.reset();
    mine.capacity.fits = 0;
    mine.capacity.reason = error.what();
  }
}

// Whatever the error: what the device still does is unknown, so that nothing it may touch is ever freed.
void Group::lose(std::size_t index, ErrorKind kind, const std::string& what) {
  SessionDevice& device = devices_[index];
  if (device.lost) return;
  device.lost = true;
  device.hung = kind == ErrorKind::timeout;
  ++device.failures;
  device.lost_why = what;
  say_lost(device, observer_);
  keep_for_ever(std::move(device.open));
  leak(index);
}

// The device lives, but is of no more use to this problem.
void Group::refuse(std::size_t index, const std::string& why) {
  result_.prepared[index].capacity = {0, 0, 0, why};
  observer_.warning("device " + devices_[index].facts.id + " takes no more part in " + problem_.suite->name + ": " + why);
  leak(index);
}

void Group::leak(std::size_t index) {
  result_.lost_any = true;
  keep_for_ever(std::move(result_.prepared[index].program));
}

// For a case none of whose devices is left: another device of the set, or else the one in reserve.
std::optional<std::size_t> Group::stand_in(const Cell& cell) {
  for (std::size_t i = 0; i < in_set_; ++i) {
    const bool has_it = std::find(cell.devices.begin(), cell.devices.end(), i) != cell.devices.end();
    if (is_usable(i) && !has_it) return i;
  }
  if (devices_.size() == in_set_) return std::nullopt;
  const std::size_t reserve = in_set_;
  SessionDevice& device = devices_[reserve];
  if (device.lost) return std::nullopt;
  if (!device.open) {
    try {
      device.open = backend_.open(device.facts, device.handicap);
      device.free_memory = device.open->free_memory();
      observer_.warning("no device of the set is left: device " + device.facts.id + " " + device.facts.name + " steps in");
    } catch (const Error& error) {
      device.lost = true;
      device.lost_why = error.what();
      say_lost(device, observer_);
      return std::nullopt;
    }
  }
  if (!result_.prepared[reserve].program && result_.prepared[reserve].capacity.reason.empty()) prepare_device(reserve);
  return is_usable(reserve) ? std::optional(reserve) : std::nullopt;
}

// Cases one of whose devices lives, but cannot do this.
void Group::close_unsupported_cells() {
  for (Cell& cell : result_.cells) {
    for (const std::size_t i : cell.devices) {
      if (devices_[i].lost || result_.prepared[i].program) continue;
      cell.closed = true;
      cell.status = Status::unsupported;
      cell.reason = "device " + devices_[i].facts.id + ": " + result_.prepared[i].capacity.reason;
      break;
    }
  }
}

// Cases go on with the devices that are left; what was measured with all of them stands, where it is enough.
void Group::shrink_cells() {
  for (Cell& cell : result_.cells) {
    const auto gone = [&](std::size_t i) { return !is_usable(i); };
    if (cell.closed || std::none_of(cell.devices.begin(), cell.devices.end(), gone)) continue;
    const std::size_t enough = options_.stop.exactly > 0 ? options_.stop.exactly : kFewest;
    if (cell.times.size() >= enough) {
      cell.closed = true;
    } else {
      shrink(cell);
    }
  }
}

void Group::shrink(Cell& cell) {
  std::string why;
  if (!cell.times.empty()) cell.before = {cell.devices, std::move(cell.times)};
  cell.times.clear();
  cell.samples.clear();
  cell.decisions.clear();
  cell.history.clear();
  cell.chosen.reset();
  cell.predicted.reset();
  const std::vector<std::size_t> before = cell.devices;
  for (std::size_t n = before.size(); n-- > 0;) {
    const std::size_t i = before[n];
    if (is_usable(i)) continue;
    why = "device " + devices_[i].facts.id + ": " +
          (devices_[i].lost ? "lost, " + devices_[i].lost_why : result_.prepared[i].capacity.reason);
    cell.devices.erase(cell.devices.begin() + static_cast<std::ptrdiff_t>(n));
    if (!cell.estimates.empty()) cell.estimates.erase(cell.estimates.begin() + static_cast<std::ptrdiff_t>(n));
  }
  if (cell.devices.empty()) {
    const auto other = cell.alone() ? std::nullopt : stand_in(cell);
    if (!other) {
      cell.devices = before;
      cell.closed = true;
      cell.status = cell.before || !cell.disturbed.empty() ? Status::failed : Status::skipped;
      cell.reason = why;
      return;
    }
    cell.devices = {*other};
    estimate(cell, {});
  }
  if (!cell.estimates.empty()) predict(cell);
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
  for (std::size_t i = 0; i < in_set_; ++i) result_.prepared[i].probe = probe_together(i, 1);
  for (const std::size_t count : options_.device_counts) {
    if (count > 1 && !together.contains(count)) together[count] = probe_together(0, count);
  }
  for (Cell& cell : result_.cells) {
    const bool one = cell.devices.size() == 1;
    estimate(cell, one ? result_.prepared[cell.devices.front()].probe : together[cell.asked]);
  }
}

// Of the devices first .. first + count - 1 that are left.
Probe Group::probe_together(std::size_t first, std::size_t count) {
  std::vector<Member> members;
  std::vector<std::size_t> devices;
  ProbeSize size;
  size.most = std::numeric_limits<Items>::max();
  size.turns = kTurnsOfCpus;
  for (std::size_t i = first; i < first + count; ++i) {
    if (!is_usable(i)) continue;
    members.push_back(member(i));
    devices.push_back(i);
    size.most = std::min(size.most, result_.prepared[i].capacity.pipeline);
  }
  if (devices.empty()) return {};
  workload_.expect(devices.size());  // which decides what an item costs
  const auto& known = options_.calibration.devices;
  for (const std::size_t i : devices) {
    const auto rate = rates_.find({work_of(problem_), devices_[i].facts.id});
    size.known.push_back(known_costs(devices_[i], i < known.size() && known[i] ? &*known[i] : nullptr,
                                     rate == rates_.end() ? nullptr : &rate->second, workload_, mode_, devices.size(), in_set_));
  }
  if (stopped()) return {};
  Probe probe = run_probe(backend_, executor_, workload_, members, size, options_.case_timeout.value_or(kLeastPatience));
  for (const DeviceFault& fault : probe.faults) {
    const std::size_t index = devices[fault.device.value];
    lose(index, fault.kind, fault.what);
    Fault& noted = result_.faults.emplace_back(Fault{devices_[index].facts.id, kind_of(fault.kind), phase_, fault.what});
    noted.items_lost = fault.items_lost;
    noted.detection = fault.detection;
  }
  if (!probe.faults.empty()) {
    shrink_cells();
    return probe_together(first, count);  // of those that are left
  }
  return probe;
}

void Group::estimate(Cell& cell, const Probe& together) {
  estimate_cell(cell, together, workload_, mode_, devices_, result_.prepared, options_.calibration,
                options_.stated ? &*options_.stated : nullptr);
}

void Group::predict() {
  for (Cell& cell : result_.cells) {
    if (!cell.closed) predict(cell);
  }
}

void Group::predict(Cell& cell) {
  const Nanos begin = backend_.now();
  choose_cell(cell, workload_, mode_);
  if (cell.chosen) cell.choosing = backend_.now() - begin;
  predict_cell(cell, workload_, mode_);
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
        // The last of a cell as thoroughly as its first.
        if (const auto last = check(cell, true, cell.devices); last.status == Verification::Outcome::Status::wrong)
          fail_wrong(cell, last.why);
        cell.closed = true;
      }
      open = true;
    }
    if (round < kEveryRound || round % kThenOneIn == 0) tell();
  }
}

Member Group::member(std::size_t index) {
  const Prepared& mine = result_.prepared[index];
  const bool compiles = devices_[index].facts.is_cpu() && !mine.executed;
  return {devices_[index].open.get(), mine.program.get(), compiles ? options_.build_timeout : Nanos{}};
}

Nanos Group::patience(const Cell& cell) const {
  if (options_.case_timeout) return *options_.case_timeout;
  return cell.predicted ? std::max(kLeastPatience, from_seconds(kPatience * seconds(cell.predicted->makespan))) : kLeastPatience;
}

void Group::take_sample(Cell& cell, bool counts) {
  std::vector<std::size_t> devices = cell.devices;
  SampleRequest request;
  for (const std::size_t i : devices) request.members.push_back(member(i));
  if (cell.estimates.empty()) estimate(cell, {});  // before the probes
  request.merge_device = fastest_of(cell.estimates);
  request.workload = &workload_;
  request.timeout = patience(cell);
  request.stop = [&] { return observer_.stop_requested(); };
  if (!cell.alone()) {
    request.reserve = [&]() -> std::optional<Member> {
      const auto other = stand_in(cell);
      if (!other) return std::nullopt;
      devices.push_back(*other);
      return member(*other);
    };
  }
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
  if (sample.interrupted) return;  // stopped() comes next
  wakefulness_.used(sample, devices);
  if (!sample.faults.empty()) return take_disturbed(cell, std::move(sample), std::move(devices));
  if (sample.failure) return fail(cell, sample.failure->what());
  for (const std::size_t i : devices) result_.prepared[i].executed = true;
  const Verification::Outcome outcome = check(cell, cell.verify.method.empty(), devices);
  if (outcome.status == Verification::Outcome::Status::wrong) return fail_wrong(cell, outcome.why);
  if (outcome.status == Verification::Outcome::Status::unknown || !counts) return shrink_cells();
  cell.history.push_back(share_of(sample, devices.size()));
  cell.history.back().first = source->first_shares();
  cell.times.push_back(sample.makespan());
  cell.decisions.push_back(cell.choosing + begun + sample.decision);
  cell.samples.push_back(std::move(sample));
}

// A device was lost: the sample is kept apart, and its result is verified as thoroughly as a first one.
void Group::take_disturbed(Cell& cell, RawSample sample, std::vector<std::size_t> devices) {
  note_faults(cell, sample, devices);
  Cell::Disturbed disturbed{std::move(sample), std::move(devices), VerifyStatus::off, {}};
  if (disturbed.sample.failure) {
    disturbed.reason = disturbed.sample.failure->what();
  } else {
    const VerifyRecord before = cell.verify;
    const Verification::Outcome outcome = check(cell, true, disturbed.devices);
    disturbed.reason = outcome.why;
    disturbed.verify = outcome.status == Verification::Outcome::Status::wrong ? VerifyStatus::failed
                       : outcome.status == Verification::Outcome::Status::right && options_.verify != VerifyLevel::off
                           ? VerifyStatus::passed
                           : VerifyStatus::off;
    if (disturbed.verify == VerifyStatus::failed) {
      cell.disturbed.push_back(std::move(disturbed));
      return fail_wrong(cell, outcome.why);
    }
    if (outcome.status == Verification::Outcome::Status::unknown) cell.verify = before;
  }
  cell.disturbed.push_back(std::move(disturbed));
  shrink_cells();
}

void Group::note_faults(Cell& cell, const RawSample& sample, std::span<const std::size_t> devices) {
  for (const DeviceFault& fault : sample.faults) {
    const std::size_t index = devices[fault.device.value];
    const Recovery recovery = recovery_of(sample, fault);
    Fault noted{devices_[index].facts.id, kind_of(fault.kind), fault.merging ? "merge" : phase_, fault.what};
    noted.at = fault.at;
    noted.detection = fault.detection;
    noted.recovery = recovery.time;
    noted.items_lost = fault.items_lost;
    noted.items_redone = recovery.items;
    if (!cell.alone()) noted.sample = cell.disturbed.size();
    (cell.alone() ? result_.faults : cell.faults).push_back(std::move(noted));
    if (fault.kind == ErrorKind::out_of_memory) {
      refuse(index, fault.what);
    } else {
      lose(index, fault.kind, fault.what);
    }
  }
}

// A case whose result is wrong has no numbers, as one without a result.
Verification::Outcome Group::check(Cell& cell, bool thorough, std::span<const std::size_t> devices) {
  Verification::Outcome outcome =
      verification_.check(cell.verify, ids_of(devices), thorough, [&] { return publish(devices); });
  if (!outcome.digest.empty()) ++cell.digests[outcome.digest];
  return outcome;
}

// False: a device was lost, and with it its part of the result.
bool Group::publish(std::span<const std::size_t> devices) {
  bool all = true;
  for (const std::size_t i : devices) {
    if (!is_usable(i)) continue;
    try {
      OpenDevice& device = *devices_[i].open;
      result_.prepared[i].program->publish(device.stream());
      settle(backend_, device, device.submit(), options_.case_timeout.value_or(kLeastPatience));
      result_.prepared[i].program->published();
    } catch (const Error& error) {
      lose(i, error.kind(), error.what());
      result_.faults.push_back({devices_[i].facts.id, kind_of(error.kind()), "publish", error.what()});
      all = false;
    }
  }
  return all;
}

void Group::fail(Cell& cell, const std::string& reason) {
  cell.status = Status::failed;
  cell.reason = reason;
  cell.closed = true;
  cell.samples.clear();
  cell.times.clear();
  cell.decisions.clear();
}

void Group::fail_wrong(Cell& cell, const std::string& reason) {
  const std::string ids = ids_of(cell.devices);
  cell.verify.status = VerifyStatus::failed;
  fail(cell, cell.devices.size() == 1 ? "device " + ids + ": " + reason : reason);
  if (cell.devices.size() > 1) return;
  // Nobody else had a part in it. What is measured against this device alone has no base.
  Fault fault{ids, "wrong_result", "verify", reason};
  (cell.alone() ? result_.faults : cell.faults).push_back(std::move(fault));
  observer_.warning("device " + ids + " alone computes a wrong result: " + reason);
}

std::string Group::ids_of(std::span<const std::size_t> devices) const {
  std::string ids;
  for (const std::size_t i : devices) ids += (ids.empty() ? "" : ", ") + devices_[i].facts.id;
  return ids;
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

// Bits that most results do not have are wrong, though the reference's bound allows them: equal devices compute equal bits.
void Group::settle_digests() {
  if (options_.verify == VerifyLevel::off) return;
  const std::string& agreed = digests_.agreed();
  const auto equal = [&](std::size_t i) {
    return devices_[i].facts.name == devices_[0].facts.name && devices_[i].facts.platform == devices_[0].facts.platform;
  };
  for (Cell& cell : result_.cells) {
    const auto other = std::find_if(cell.digests.begin(), cell.digests.end(), [&](const auto& d) { return d.first != agreed; });
    if (other == cell.digests.end() || cell.status != Status::ok) continue;
    if (!std::all_of(cell.devices.begin(), cell.devices.end(), equal)) {
      cell.verify.method += "; devices of another kind give other last bits";
      continue;
    }
    fail_wrong(cell, "the result " + other->first + " differs from " + agreed + ", which most samples have");
  }
}

void Group::finish() {
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    Prepared& mine = result_.prepared[i];
    if (!is_usable(i)) continue;
    try {
      mine.after = devices_[i].open->probe_clock(kClockProbes);
    } catch (const Error& error) {
      lose(i, error.kind(), error.what());
      result_.faults.push_back({devices_[i].facts.id, kind_of(error.kind()), "clock", error.what()});
    }
    mine.clock = fit_clock(mine.before, mine.after);
    mine.program.reset();
  }
}

}  // namespace

void say_lost(const SessionDevice& device, SessionObserver& observer) {
  observer.warning("device " + device.facts.id + " " + device.facts.name + " is out: " + device.lost_why);
}

GroupResult run_group(Backend& backend, Executor& executor, const SessionOptions& options, const Problem& problem, Mode mode,
                      Workload& workload, std::vector<SessionDevice>& devices, const SuiteRates& rates, Digests& digests,
                      std::optional<Nanos> give_up_at, SessionObserver& observer) {
  return Group(backend, executor, options, problem, mode, workload, devices, rates, digests, give_up_at, observer).run();
}

}  // namespace mgpu
