// The order of a group's run: prepare, warm up, probe and predict, take samples interleaved,
// verify.
#include "lib/session/group.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "lib/base/quantity.hpp"
#include "lib/exec/driver_call.hpp"
#include "lib/session/group_run.hpp"

namespace mgpu {
namespace {

constexpr unsigned kClockProbes = 100;  // before and after; the tightest counts
constexpr double kPatience =
    20;  // a device is hung after this many times the predicted duration of a sample

}  // namespace

std::vector<Case> cases_of(const SessionOptions& options, std::size_t set) {
  std::vector<Case> cases;
  const auto add = [&](const StrategyChoice* choice, std::size_t first, std::size_t count) {
    Case& the_case = cases.emplace_back();
    the_case.choice = choice;
    the_case.devices.resize(count);
    std::iota(the_case.devices.begin(), the_case.devices.end(), first);
    the_case.asked = count;
  };
  for (std::size_t i = 0; i < set; ++i) add(nullptr, i, 1);
  for (const std::size_t count : options.device_counts) {
    for (const StrategyChoice& choice : options.strategies) {
      // Its samples are those of the fastest device alone.
      if (!choice.info->traits.single_device) add(&choice, 0, count);
    }
  }
  return cases;
}

void skip_unsampled(std::span<Case> cases, const std::string& why) {
  for (Case& the_case : cases) {
    the_case.closed = true;
    if (!the_case.samples.empty() || the_case.status != Status::ok) continue;
    the_case.status = Status::skipped;
    the_case.reason = why;
  }
}

void note_exchange(Report& report, const GroupResult& group) {
  for (const std::string& note : group.exchange_notes) {
    if (std::find(report.exchange_notes.begin(), report.exchange_notes.end(), note) ==
        report.exchange_notes.end())
      report.exchange_notes.push_back(note);
  }
}

const StrategyChoice& Case::strategy() const {
  static const StrategyChoice single = strategy_with(&StrategyTraits::single_device);
  return alone() ? single : *choice;
}

Predictor Group::make_predictor() const {
  std::vector<KnownDevice> known;
  const Calibration& calibration = given_.options.calibration;
  for (std::size_t i = 0; i < given_.devices.size(); ++i) {
    KnownDevice& device = known.emplace_back();
    device.facts = &given_.devices[i].facts;
    if (given_.devices[i].handicap.slows_always()) device.slow = given_.devices[i].handicap.slow;
    if (i < calibration.devices.size() && calibration.devices[i])
      device.capability = &*calibration.devices[i];
    const auto rate = given_.rates.find({work_of(given_.problem), given_.devices[i].facts.id});
    if (rate != given_.rates.end()) device.rate = &rate->second;
  }
  return {given_.workload,
          given_.mode,
          std::move(known),
          in_set_,
          calibration.link ? &*calibration.link : nullptr,
          given_.options.given_estimates ? &*given_.options.given_estimates : nullptr};
}

void Group::prepare() {
  result_.prepared.resize(given_.devices.size());
  open_again();
  connect();
  for (std::size_t i = 0; i < in_set_; ++i) {
    if (!given_.devices[i].lost) prepare_device(i);
  }
  bool none = true;
  for (std::size_t i = 0; i < in_set_; ++i) none &= !is_usable(i);
  if (none && stopped()) return;  // the stop is the reason, not the devices
  close_unsupported_cases();
  shrink_cases();
}

void Group::prepare_device(std::size_t index) {
  Prepared& mine = result_.prepared[index];
  OpenDevice& device = *given_.devices[index].open;
  bool enqueued = false;
  const auto make_program = [&] {
    device.take_setup_cost();
    mine.program = given_.workload.program(device.resources(), given_.mode, mine.capacity);
    mine.cost = device.take_setup_cost();
    mine.kernel_variant = mine.program->kernel_variant();
    enqueued = true;
    if (SelfTested* const self_tested = mine.program->interfaces().self_tested)
      complete(given_.backend, device, self_tested->self_test(device.stream()));
    if (given_.mode != Mode::end_to_end) {
      const Nanos begin = given_.backend.now();
      mine.program->load(device.stream());
      finish_batch(given_.backend, device, device.submit());
      mine.upload = given_.backend.now() - begin;
    }
    if (mine.before.empty()) mine.before = device.probe_clock(kClockProbes);
  };
  try {
    mine.capacity = given_.workload.capacity(device.resources().traits(), given_.mode);
    predictor_.set_capacity(index, mine.capacity, given_.devices[index].free_memory);
    if (mine.capacity.fits == 0) return;
    attend(given_.backend, &device, make_program);
  } catch (const Error& error) {
    // A file is wrong, and not only for this device.
    if (error.kind() == ErrorKind::input || error.kind() == ErrorKind::usage) throw;
    const bool refused =
        error.kind() == ErrorKind::out_of_memory || error.kind() == ErrorKind::unsupported;
    if (error.kind() == ErrorKind::interrupted) {
      give_up(index);
    } else if (!refused) {
      lose(index, error.kind(), error.what());
      result_.faults.push_back(
          {given_.devices[index].facts.id, kind_of(error.kind()), "set_up", error.what()});
    } else if (enqueued && error.kind() == ErrorKind::out_of_memory) {
      refuse(index, error.what());  // what was enqueued before may still be under way
    }
    release_program(index);
    mine.capacity.fits = 0;
    mine.capacity.reason = error.what();
    predictor_.set_capacity(index, mine.capacity, given_.devices[index].free_memory);
  }
}

// Uncounted executions: kernels are built for good, memory is touched. Devices alone get one at
// least, and first: probes follow.
void Group::warm_up(bool alone) {
  for (Case& the_case : result_.cases) {
    if (the_case.alone() != alone) continue;
    const std::size_t times = std::max<std::size_t>(given_.options.stop.warmup, alone ? 1 : 0);
    for (std::size_t n = 0; n < times && !the_case.closed; ++n) {
      if (stopped()) return;
      execute_uncounted(the_case);
    }
  }
}

// Of work in thousands of rounds, such as a training of half a minute, the first ones do where the
// whole takes a second or more.
void Group::execute_uncounted(Case& the_case) {
  constexpr std::uint32_t kFirst = 256;
  constexpr Nanos kLong = std::chrono::seconds(1);
  const std::uint32_t rounds = given_.workload.shape().rounds;
  if (rounds > kFirst) {
    const Nanos begin = given_.backend.now();
    take_sample(the_case, false, kFirst);
    if (the_case.closed || (given_.backend.now() - begin) / kFirst * rounds >= kLong) return;
  }
  take_sample(the_case, false);
}

// Each device alone, then the first n of every count asked for at once: CPU cores slow each other
// down, GPUs share the host link.
void Group::probe() {
  predictor_.set_most_turns(given_.options.stop.probe_turns());
  if (!given_.options.given_estimates) {
    for (std::size_t i = 0; i < in_set_; ++i) probe_together(i, 1);
    const std::set<std::size_t> counts(given_.options.device_counts.begin(),
                                       given_.options.device_counts.end());
    for (const std::size_t count : counts) {
      if (count > 1) probe_together(0, count);
    }
  }
  for (Case& the_case : result_.cases)
    the_case.prediction.estimates = predictor_.estimate(the_case.devices);
}

// Of the devices first .. first + count - 1 those that are left.
void Group::probe_together(std::size_t first, std::size_t count) {
  connect_those_left();
  std::vector<Member> members;
  std::vector<std::size_t> devices;
  for (std::size_t i = first; i < first + count; ++i) {
    if (!is_usable(i)) continue;
    members.push_back(member(i));
    devices.push_back(i);
  }
  if (devices.empty() || stopped()) return;
  const std::vector<DeviceFault> faults =
      predictor_.probe(given_.backend, given_.executor, devices, members);
  for (const DeviceFault& fault : faults) {
    const std::size_t index = devices[fault.device.value];
    lose(index, fault.kind, fault.what);
    if (fault.kind == ErrorKind::interrupted) continue;
    Fault& noted = result_.faults.emplace_back(
        Fault{given_.devices[index].facts.id, kind_of(fault.kind), phase_, fault.what});
    noted.items_lost = fault.items_lost;
    noted.detection = fault.detection;
  }
  if (faults.empty() || stopped()) return;
  shrink_cases();
  probe_together(first, count);  // those that are left
}

void Group::predict() {
  for (Case& the_case : result_.cases) {
    if (!the_case.closed) predict(the_case);
  }
}

void Group::predict(Case& the_case) {
  const Nanos begin = given_.backend.now();
  predictor_.choose(the_case.prediction, the_case.strategy());
  if (the_case.prediction.chosen) the_case.choosing = given_.backend.now() - begin;
  predictor_.predict(the_case.prediction, the_case.strategy(), the_case.history);
}

// Round after round, every second one backwards, so that a drift of the machine affects all cases
// alike.
void Group::sample_interleaved() {
  std::vector<std::size_t> order(result_.cases.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  constexpr std::size_t kEveryRound = 64,
                        kThenOneIn = 16;  // progress is worked out of all samples so far
  std::size_t round = 0;
  const std::size_t fewest = fewest_samples();
  for (bool open = true; open; std::reverse(order.begin(), order.end()), ++round) {
    open = false;
    for (const std::size_t index : order) {
      Case& the_case = result_.cases[index];
      if (the_case.closed) continue;
      open = true;
      if (round == 0 && the_case.times.size() > fewest) continue;
      if (stopped()) return;
      if (!given_.backend.is_virtual() && idle_tracker_.starts_cold(the_case, given_.backend.now()))
        execute_uncounted(the_case);
      if (the_case.closed) continue;
      take_sample(the_case, true);
      if (!the_case.closed && given_.options.stop.satisfied(the_case.times)) {
        // The last of a case as thoroughly as its first.
        const Verification::Outcome last = check(the_case, true, the_case.devices);
        if (last.status == Verification::Outcome::Status::right && !the_case.last_checked)
          ++the_case.verify.checked;
        if (last.status == Verification::Outcome::Status::wrong) fail_wrong(the_case, last.why);
        the_case.closed = true;
      }
      note_losses();
    }
    if (round < kEveryRound || round % kThenOneIn == 0) tell();
  }
}

Member Group::member(std::size_t index) {
  return {given_.devices[index].open.get(), result_.prepared[index].program.get()};
}

Nanos Group::patience(const Case& the_case) const {
  const Nanos least = given_.backend.limits().answer;
  const auto& expected = the_case.prediction.expected;
  if (given_.options.case_timeout || !expected) return least;
  return std::max(least, from_seconds(kPatience * seconds(expected->makespan)));
}

// Of no more than `most_rounds` rounds, if it goes in rounds: it has a result only if these are
// all.
void Group::take_sample(Case& the_case, bool counts, std::uint32_t most_rounds) {
  connect_those_left();
  shrink_cases();  // devices may have been lost since
  if (the_case.closed) return;
  std::vector<std::size_t> devices = the_case.devices;
  SampleRequest request;
  for (const std::size_t i : devices) request.members.push_back(member(i));
  SetEstimates& estimates = the_case.prediction.estimates;
  if (estimates.devices.empty())
    estimates = predictor_.estimate(the_case.devices);  // before the probes
  request.merge_device = fastest_of(estimates.devices);
  request.workload = &given_.workload;
  request.timeout = patience(the_case);
  request.most_rounds = most_rounds;
  request.merges = given_.workload.shape().rounds <= most_rounds;
  request.stop = [&] { return given_.observer.stop_requested(); };
  if (!the_case.alone() && !goes_in_rounds()) {
    request.reserve = [&]() -> std::optional<Member> {
      const auto other = stand_in(the_case);
      if (!other) return std::nullopt;
      devices.push_back(*other);
      return member(*other);
    };
  }
  std::unique_ptr<SliceSource> source;
  const Nanos begin = given_.backend.now();
  try {
    source = predictor_.begin(the_case.prediction, the_case.strategy(), the_case.history);
  } catch (const Error& error) {
    return refuse(the_case, error.what());
  }
  const Nanos begun = given_.backend.now() - begin;
  request.source = source.get();
  if (goes_in_rounds() && devices.size() > 1 && !peers_)
    return refuse(the_case,
                  "these devices cannot exchange data, which they have to after each round");
  exchange(request, the_case.prediction, the_case.devices);
  RawSample sample = given_.executor.run(request);
  if (goes_in_rounds()) sample = begin_again(the_case, request, std::move(sample), devices);
  if (sample.interrupted) return;  // stopped() comes next
  idle_tracker_.used(sample, devices);
  if (!sample.faults.empty())
    return take_disturbed(the_case, std::move(sample), std::move(devices));
  if (sample.failure && sample.failure->kind() == ErrorKind::unsupported)
    return refuse(the_case, sample.failure->what());
  if (sample.failure) return fail(the_case, sample.failure->what());
  if (sample.makespan() <= Nanos{})
    return fail(the_case, "a sample took " + format_duration(sample.makespan()) +
                              ": the host's clock stands still or goes backwards");
  if (!request.merges) return shrink_cases();
  const bool on_devices = given_.workload.shape().result_on_devices;
  const bool first = the_case.verify.method.empty();
  if (!counts && on_devices && !first)
    return shrink_cases();  // a look would make the next one cold
  const bool compared = given_.options.integrity != IntegrityLevel::off && on_devices;
  const Verification::Outcome outcome = check(the_case, first || compared, devices);
  if (on_devices && !outcome.digest.empty()) idle_tracker_.looked_at(sample.makespan(), devices);
  if (outcome.status == Verification::Outcome::Status::wrong)
    return fail_wrong(the_case, outcome.why);
  if (outcome.status == Verification::Outcome::Status::unknown || !counts) return shrink_cases();
  if (!check_integrity(the_case, sample)) return;
  the_case.history.push_back(share_of(sample, devices.size()));
  the_case.history.back().first =
      sample.moves.empty() ? source->first_shares() : sample.moves.back().shares;
  the_case.times.push_back(sample.makespan());
  the_case.decisions.push_back(the_case.choosing + begun + sample.decision);
  the_case.samples.push_back(std::move(sample));
  the_case.last_checked = !outcome.digest.empty();
  if (the_case.last_checked) ++the_case.verify.checked;
  note_sample(the_case, outcome.digest);
}

// These devices cannot do that together.
void Group::refuse(Case& the_case, const std::string& why) {
  the_case.status = Status::unsupported;
  the_case.reason = why;
  the_case.closed = true;
}

bool Group::stopped() {
  const bool late = given_.give_up_at && given_.backend.now() >= *given_.give_up_at;
  const bool asked = given_.observer.stop_requested();
  if (!late && !asked) return false;
  // A session that is complete has no journal any more: as long as a case has samples only there,
  // it is not.
  const bool earlier = !asked && has_samples_of_earlier_runs_only();
  if (earlier && !result_.interrupted)
    given_.observer.warning(
        "the time limit was reached before cases that have samples of earlier runs had one of this "
        "run: the run is not complete");
  result_.interrupted = asked || earlier;
  skip_unsampled(result_.cases, asked ? "interrupted before its first sample"
                                      : "the time limit was reached before its first sample");
  return true;
}

void Group::finish() {
  for (std::size_t i = 0; i < given_.devices.size(); ++i) {
    Prepared& mine = result_.prepared[i];
    if (is_usable(i)) probe_clock_again(i);
    if (!mine.before.empty()) mine.clock = fit_clock(mine.before, mine.after);
    release_program(i);
  }
  disconnect();
}

void Group::probe_clock_again(std::size_t index) {
  try {
    OpenDevice* const device = given_.devices[index].open.get();
    attend(given_.backend, device,
           [&] { result_.prepared[index].after = device->probe_clock(kClockProbes); });
  } catch (const Error& error) {
    lose(index, error.kind(), error.what());
    if (error.kind() != ErrorKind::interrupted)
      result_.faults.push_back(
          {given_.devices[index].facts.id, kind_of(error.kind()), "clock", error.what()});
  }
}

void open_device(Backend& backend, SessionDevice& device) {
  device.open = backend.open(device.facts, device.handicap);
  attend(backend, device.open.get(), [&] { device.free_memory = device.open->free_memory(); });
}

std::size_t in_set(std::span<const SessionDevice> devices) {
  return static_cast<std::size_t>(std::count_if(
      devices.begin(), devices.end(), [](const SessionDevice& device) { return !device.reserve; }));
}

void say_lost(const SessionDevice& device, SessionObserver& observer) {
  observer.warning("device " + device.facts.id + " " + device.facts.name +
                   " disabled: " + device.lost_why);
}

GroupResult run_group(const GroupRequest& request) { return Group(request).run(); }

}  // namespace mgpu
