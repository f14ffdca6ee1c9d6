// Runs a group from preparation to result, handles failures of devices and cases, and verifies
// results.
#include "lib/session/group_run.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "lib/base/quantity.hpp"
#include "lib/exec/driver_call.hpp"
#include "lib/exec/leak.hpp"
#include "lib/report/case_name.hpp"
#include "lib/session/recorded_params.hpp"

namespace mgpu {
namespace {

constexpr unsigned kClockProbes = 100;  // before and after sampling; the tightest of them count
// A device counts as hung after this many times the predicted duration of a sample.
constexpr double kPatience = 20;
// Number of samples with which a case keeps its figures when one of its devices fails.
constexpr std::size_t kEnoughToStand = 3;
constexpr unsigned kMostFailures = 3;  // after this many failures a device is not opened again

}  // namespace

const char* Group::to_string(Phase phase) {
  return phase == Phase::set_up    ? "set_up"
         : phase == Phase::warm_up ? "warm_up"
         : phase == Phase::probe   ? "probe"
                                   : "sample";
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
  if (stopped()) return;
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
    mine.alone_bytes = given_.workload.alone_bytes(device.resources().traits(), given_.mode);
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
    // The file is wrong for every device.
    if (error.kind() == ErrorKind::input || error.kind() == ErrorKind::usage) throw;
    const bool refused =
        error.kind() == ErrorKind::out_of_memory || error.kind() == ErrorKind::unsupported;
    if (error.kind() == ErrorKind::interrupted) {
      release_failed(index);
    } else if (!refused) {
      mark_failed(index, error.kind(), error.what());
      result_.faults.push_back(
          {given_.devices[index].facts.id, kind_of(error.kind()), "set_up", error.what()});
    } else if (enqueued && error.kind() == ErrorKind::out_of_memory) {
      refuse(index, error.what());  // commands enqueued before may still be under way
    }
    release_program(index);
    mine.capacity.fits = 0;
    mine.capacity.reason = error.what();
    predictor_.set_capacity(index, mine.capacity, given_.devices[index].free_memory);
  }
}

// Executes cases without counting them, which builds all kernels and touches memory. Each device
// alone does so at least once, and first, as probes follow.
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

// Executes the case without counting it. Of thousands of iterations, such as those of a training,
// it executes only the first if all would take a second or more.
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

// Probes each device alone, then the first n devices together for every count n: CPU cores slow
// each other down, GPUs share the host link.
void Group::probe() {
  predictor_.set_most_turns(given_.options.stop.probe_turns());
  predictor_.time_merge(given_.backend);
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

// Probes the devices first .. first + count - 1 that have not failed.
void Group::probe_together(std::size_t first, std::size_t count) {
  connect_those_left();
  std::vector<Participant> participants;
  std::vector<std::size_t> devices;
  for (std::size_t i = first; i < first + count; ++i) {
    if (!is_usable(i)) continue;
    participants.push_back(participant(i));
    devices.push_back(i);
  }
  if (devices.empty() || stopped()) return;
  const std::vector<DeviceFault> faults =
      predictor_.probe(given_.backend, given_.executor, devices, participants);
  for (const DeviceFault& fault : faults) {
    const std::size_t index = devices[fault.device.value];
    mark_failed(index, fault.kind, fault.what);
    if (fault.kind == ErrorKind::interrupted || fault.kind == ErrorKind::unsupported) continue;
    Fault& noted = result_.faults.emplace_back(
        Fault{given_.devices[index].facts.id, kind_of(fault.kind), to_string(phase_), fault.what});
    noted.items_lost = fault.items_lost;
    noted.detection = fault.detection;
  }
  if (faults.empty() || stopped()) return;
  shrink_cases();
  probe_together(first, count);  // the remaining devices
}

void Group::predict() {
  for (Case& the_case : result_.cases) {
    if (!the_case.closed) predict(the_case);
  }
}

void Group::predict(Case& the_case) {
  const Nanos begin = given_.backend.now();
  auto& estimates = the_case.prediction.estimates.devices;
  for (std::size_t n = 0; n < estimates.size() && !power_.empty(); ++n) {
    const Power& power = power_[the_case.devices[n]];
    estimates[n].idle_w = power.idle_w;
    estimates[n].busy_w = power.busy_w;
  }
  predictor_.choose(the_case.prediction, the_case.strategy());
  if (the_case.prediction.chosen) the_case.choosing = given_.backend.now() - begin;
  predictor_.predict(the_case.prediction, the_case.strategy(), the_case.history);
}

// Takes one sample of each case per round. Every second round goes backwards, so that a drift of
// the machine affects all cases alike.
void Group::sample_interleaved() {
  std::vector<std::size_t> order(result_.cases.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Progress is reported in each of the first rounds, then once in 16: it is estimated from all
  // samples so far.
  constexpr std::size_t kEveryRound = 64, kThenOneIn = 16;
  std::size_t round = 0;
  const std::size_t fewest = fewest_samples();
  const StopRule stop = stop_rule();
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
      if (!the_case.closed && stop.satisfied(the_case.times)) {
        // The last sample of a case is verified as thoroughly as its first.
        const Verification::Outcome last = check(the_case, true, the_case.devices);
        if (last.status == Verification::Outcome::Status::right && !the_case.last_checked)
          ++the_case.verify.checked;
        if (last.status == Verification::Outcome::Status::wrong) fail_wrong(the_case, last.why);
        the_case.closed = true;
      }
      journal_.note_losses();
    }
    if (round < kEveryRound || round % kThenOneIn == 0) tell();
  }
}

// Returns the number of samples of the open case that has fewest. An interrupted round is completed
// first, so that sample k of all cases is of one round or of two successive ones.
StopRule Group::stop_rule() const {
  StopRule rule = given_.options.stop;
  RunRecord like;
  like.suite = given_.problem.suite->name;
  like.params = recorded_params(given_.problem);
  like.mode = given_.mode;
  if (const auto least = given_.options.fewest_samples.find(group_name(like));
      least != given_.options.fewest_samples.end())
    rule.fewest = std::max(rule.fewest, least->second);
  return rule;
}

std::size_t Group::fewest_samples() const {
  std::size_t fewest = ~std::size_t{0};
  for (const Case& the_case : result_.cases)
    if (!the_case.closed) fewest = std::min(fewest, the_case.times.size());
  return fewest;
}

Participant Group::participant(std::size_t index) {
  return {given_.devices[index].open.get(), result_.prepared[index].program.get()};
}

Nanos Group::time_limit_of(const Case& the_case) const {
  const Nanos least = given_.backend.limits().answer;
  const auto& expected = the_case.prediction.expected;
  if (given_.options.case_timeout || !expected) return least;
  return std::max(least, from_seconds(kPatience * seconds(expected->makespan)));
}

// Returns the request of a sample without its source and what its devices exchange.
SampleRequest Group::request_of(Case& the_case, std::uint32_t most_rounds) {
  SampleRequest request;
  for (const std::size_t i : the_case.devices) request.participants.push_back(participant(i));
  SetEstimates& estimates = the_case.prediction.estimates;
  if (estimates.devices.empty())
    estimates = predictor_.estimate(the_case.devices);  // the warm-up comes before the probes
  request.merge_device = fastest_of(estimates.devices);
  request.merge_per_part = estimates.merge.per_slice;
  request.workload = &given_.workload;
  request.timeout = time_limit_of(the_case);
  request.most_rounds = most_rounds;
  request.merges = given_.workload.shape().rounds <= most_rounds;
  request.stop = [&] { return given_.observer.stop_requested(); };
  return request;
}

// Takes a sample, limited to `most_rounds` iterations: it has a result only if these are all.
void Group::take_sample(Case& the_case, bool counts, std::uint32_t most_rounds) {
  connect_those_left();
  shrink_cases();  // devices may have failed since
  if (the_case.closed) return;
  std::vector<std::size_t> devices = the_case.devices;
  SampleRequest request = request_of(the_case, most_rounds);
  if (given_.options.live_every && request.merges) {
    request.live_every = *given_.options.live_every;
    request.live = [&, before = LiveSample{}](const LiveSample& now) mutable {
      report_live(the_case, devices, counts, before, now);
      before = now;
    };
  }
  if (!the_case.alone() && !is_iterative()) {
    request.reserve = [&]() -> std::optional<Participant> {
      const auto other = fail_over(the_case);
      if (!other) return std::nullopt;
      devices.push_back(*other);
      return participant(*other);
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
  if (is_iterative() && devices.size() > 1 && !exchange_.any())
    return refuse(the_case,
                  "these devices cannot exchange data, which they have to after each round");
  exchange(request, the_case.prediction, the_case.devices);
  RawSample sample = execute(request);
  if (is_iterative())
    sample = restart_from_checkpoint(the_case, request, std::move(sample), devices);
  if (sample.interrupted) return;  // the caller checks stopped() next
  idle_tracker_.used(sample, devices);
  if (!sample.faults.empty() && exclude_unsuited(sample, devices)) return shrink_cases();
  if (!sample.faults.empty())
    return take_invalidated(the_case, std::move(sample), std::move(devices));
  if (sample.failure && sample.failure->kind() == ErrorKind::unsupported)
    return refuse(the_case, sample.failure->what());
  if (sample.failure) return fail(the_case, sample.failure->what());
  if (sample.makespan() <= Nanos{})
    return fail(the_case, "a sample took " + format_duration(sample.makespan()) +
                              ": the host's clock stands still or goes backwards");
  if (!request.merges) return shrink_cases();
  const bool on_devices = given_.workload.shape().result_on_devices;
  const bool first = the_case.verify.method.empty();
  // Copying the result would make the next sample cold.
  if (!counts && on_devices && !first) return shrink_cases();
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
  journal_.note_sample(the_case, outcome.digest);
}

// Closes a case whose devices cannot do it together.
void Group::refuse(Case& the_case, const std::string& why) {
  the_case.status = Status::unsupported;
  the_case.reason = why;
  the_case.closed = true;
}

bool Group::stopped() {
  const bool late = given_.give_up_at && given_.backend.now() >= *given_.give_up_at;
  const bool asked = given_.observer.stop_requested();
  if (!late && !asked) return false;
  // A complete session has no journal any more: it is not complete while a case has samples only in
  // the journal.
  const bool earlier = !asked && journal_.has_samples_of_earlier_runs_only();
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
    if (is_usable(i)) end_measurement(i);
    if (!mine.before.empty()) mine.clock = fit_clock(mine.before, mine.after);
  }
  release();
  result_.exchange_notes = exchange_.notes();
}

void Group::release() {
  for (std::size_t i = 0; i < result_.prepared.size(); ++i) release_program(i);
  exchange_.disconnect();
}

// Probes the clock again, and reads how much memory was allocated since the program was made.
void Group::end_measurement(std::size_t index) {
  try {
    OpenDevice* const device = given_.devices[index].open.get();
    Prepared& mine = result_.prepared[index];
    attend(given_.backend, device, [&] {
      mine.after = device->probe_clock(kClockProbes);
      const MemoryPeak since = device->take_setup_cost().memory;
      mine.cost.memory.bytes = std::max(mine.cost.memory.bytes, since.bytes);
      mine.cost.memory.reused += since.reused;
      mine.cost.memory.evicted += since.evicted;
    });
  } catch (const Error& error) {
    mark_failed(index, error.kind(), error.what());
    if (error.kind() != ErrorKind::interrupted)
      result_.faults.push_back(
          {given_.devices[index].facts.id, kind_of(error.kind()), "clock", error.what()});
  }
}

// Opens devices again, with a new context, that failed in an earlier group, unless they hung or
// failed too often.
void Group::open_again() {
  for (std::size_t i = 0; i < in_set_; ++i) {
    SessionDevice& device = given_.devices[i];
    if (!device.lost || device.hung || device.failures == 0 || device.failures >= kMostFailures)
      continue;
    try {
      open_device(given_.backend, device);
      device.lost = false;
      given_.observer.warning("device " + device.facts.id + " " + device.facts.name +
                              " was opened again, after: " + device.lost_why);
    } catch (const Error& error) {
      ++device.failures;
      device.lost_why = error.what();
    }
  }
}

void Group::mark_failed(std::size_t index, ErrorKind kind, const std::string& what) {
  SessionDevice& device = given_.devices[index];
  if (device.lost) return;
  if (kind == ErrorKind::interrupted) return release_failed(index);  // nothing is wrong with it
  if (kind == ErrorKind::unsupported) {
    if (is_usable(index)) refuse(index, what);
    result_.prepared[index].is_unsuited = true;
    return;
  }
  device.hung = kind == ErrorKind::timeout;
  ++device.failures;
  device.lost_why = what;
  report_failed(device, given_.observer);
  release_failed(index);
}

// Stops using a device. After any error it is unknown what it still executes: unless it is known to
// be idle, memory that it may touch is never freed.
void Group::release_failed(std::size_t index) {
  SessionDevice& device = given_.devices[index];
  device.lost = true;
  stop_exchanging();
  if (release_program(index))
    device.open.reset();
  else
    leak(std::move(device.open));
}

bool Group::release_program(std::size_t index) {
  OpenDevice* const device = given_.devices[index].open.get();
  std::unique_ptr<DeviceProgram>& program = result_.prepared[index].program;
  bool at_rest = device == nullptr || try_drain(given_.backend, *device);
  if (program != nullptr && at_rest) {
    try {
      attend(given_.backend, device, [&] { program.reset(); });
    } catch (const Error&) {  // the driver did not return
      at_rest = false;
    }
  }
  if (program != nullptr) leak(std::move(program));
  if (!at_rest) given_.memory_in_use = true;
  return at_rest;
}

// Excludes a device that has not failed, but cannot do this problem.
void Group::refuse(std::size_t index, const std::string& why) {
  result_.prepared[index].capacity = {0, 0, 0, why};
  given_.observer.warning("device " + given_.devices[index].facts.id + " takes no more part in " +
                          given_.problem.suite->name + ": " + why);
  release_program(index);
}

// Returns a device for a case whose devices all failed: another one of the set, or else the
// reserve.
std::optional<std::size_t> Group::fail_over(const Case& the_case) {
  for (std::size_t i = 0; i < in_set_; ++i) {
    const bool has_it =
        std::find(the_case.devices.begin(), the_case.devices.end(), i) != the_case.devices.end();
    if (is_usable(i) && !has_it) return i;
  }
  if (given_.devices.size() == in_set_) return std::nullopt;
  const std::size_t reserve = in_set_;
  SessionDevice& device = given_.devices[reserve];
  if (device.lost) return std::nullopt;
  if (!device.open) {
    try {
      open_device(given_.backend, device);
      given_.observer.warning("no device of the set is left: device " + device.facts.id + " " +
                              device.facts.name + " steps in");
    } catch (const Error& error) {
      device.lost = true;
      device.lost_why = error.what();
      report_failed(device, given_.observer);
      return std::nullopt;
    }
  }
  if (!result_.prepared[reserve].program && result_.prepared[reserve].capacity.reason.empty())
    prepare_device(reserve);
  return is_usable(reserve) ? std::optional(reserve) : std::nullopt;
}

// Closes cases whose devices have not failed, but cannot do the problem. Others go on without those
// that cannot.
void Group::close_unsupported_cases() {
  for (Case& the_case : result_.cases) {
    const auto usable = [&](std::size_t i) { return is_usable(i); };
    if (std::any_of(the_case.devices.begin(), the_case.devices.end(), usable)) continue;
    for (const std::size_t i : the_case.devices) {
      if (given_.devices[i].lost) continue;
      refuse(the_case,
             "device " + given_.devices[i].facts.id + ": " + result_.prepared[i].capacity.reason);
      break;
    }
  }
}

// Continues cases with their remaining devices. A case with enough samples of all its devices keeps
// these, and is closed.
void Group::shrink_cases() {
  for (Case& the_case : result_.cases) {
    const auto gone = [&](std::size_t i) { return !is_usable(i); };
    if (the_case.closed || std::none_of(the_case.devices.begin(), the_case.devices.end(), gone))
      continue;
    const std::size_t enough =
        given_.options.stop.exactly > 0 ? given_.options.stop.exactly : kEnoughToStand;
    if (the_case.times.size() >= enough) {
      the_case.closed = true;
    } else {
      shrink(the_case);
    }
  }
}

void Group::shrink(Case& the_case) {
  std::string why;
  the_case.discarded += the_case.times.size();
  if (!the_case.times.empty()) the_case.before = {the_case.devices, std::move(the_case.times)};
  the_case.times.clear();
  the_case.samples.clear();
  the_case.decisions.clear();
  the_case.earlier_runs.clear();
  the_case.history.clear();
  SetEstimates& estimates = the_case.prediction.estimates;
  the_case.prediction.chosen.reset();
  the_case.prediction.expected.reset();
  const std::vector<std::size_t> before = the_case.devices;
  for (std::size_t n = before.size(); n-- > 0;) {
    const std::size_t i = before[n];
    if (is_usable(i)) continue;
    why = "device " + given_.devices[i].facts.id + ": " +
          (given_.devices[i].lost ? "lost, " + given_.devices[i].lost_why
                                  : result_.prepared[i].capacity.reason);
    the_case.devices.erase(the_case.devices.begin() + static_cast<std::ptrdiff_t>(n));
    if (!estimates.devices.empty())
      estimates.devices.erase(estimates.devices.begin() + static_cast<std::ptrdiff_t>(n));
  }
  if (the_case.devices.empty()) {
    const bool unsuited = std::all_of(before.begin(), before.end(), [&](std::size_t i) {
      return result_.prepared[i].is_unsuited;
    });
    const auto other = the_case.alone() || unsuited ? std::nullopt : fail_over(the_case);
    if (!other) {
      the_case.devices = before;
      the_case.closed = true;
      the_case.status = unsuited                                           ? Status::unsupported
                        : the_case.before || !the_case.invalidated.empty() ? Status::failed
                                                                           : Status::skipped;
      the_case.reason = why;
      return;
    }
    the_case.devices = {*other};
    estimates = predictor_.estimate(the_case.devices);
  }
  estimates.exchange = predictor_.exchange_among(the_case.devices);
  if (!estimates.devices.empty()) predict(the_case);
}

// Stores a sample in which a device failed separately, and verifies its result as thoroughly as
// that of a first sample.
void Group::take_invalidated(Case& the_case, RawSample sample, std::vector<std::size_t> devices) {
  note_faults(the_case, sample, devices);
  Case::Invalidated invalidated{std::move(sample), std::move(devices), VerifyStatus::off, {}};
  if (phase_ == Phase::sample)
    invalidated.samples_before = the_case.discarded + the_case.times.size();
  if (invalidated.sample.failure) {
    invalidated.reason = invalidated.sample.failure->what();
  } else {
    const VerifyRecord before = the_case.verify;
    const Verification::Outcome outcome = check(the_case, true, invalidated.devices);
    invalidated.reason = outcome.why;
    invalidated.verify = outcome.status == Verification::Outcome::Status::unknown
                             ? VerifyStatus::off
                             : the_case.verify.status;
    if (invalidated.verify == VerifyStatus::failed) {
      the_case.invalidated.push_back(std::move(invalidated));
      return fail_wrong(the_case, outcome.why);
    }
    if (outcome.status == Verification::Outcome::Status::unknown) the_case.verify = before;
  }
  the_case.invalidated.push_back(std::move(invalidated));
  shrink_cases();
}

// Excludes the devices of the sample's faults if all of these only say that a kernel does not suit
// the device. Returns whether they do.
bool Group::exclude_unsuited(const RawSample& sample, std::span<const std::size_t> devices) {
  const auto of_kernel = [](const DeviceFault& fault) {
    return fault.kind == ErrorKind::unsupported;
  };
  if (!std::all_of(sample.faults.begin(), sample.faults.end(), of_kernel)) return false;
  for (const DeviceFault& fault : sample.faults) note_loss(devices[fault.device.value], fault);
  return true;
}

void Group::note_faults(Case& the_case, const RawSample& sample,
                        std::span<const std::size_t> devices) {
  for (const DeviceFault& fault : sample.faults) {
    const std::size_t index = devices[fault.device.value];
    const Recovery recovery = recovery_of(sample, fault);
    Fault noted{given_.devices[index].facts.id, kind_of(fault.kind),
                fault.merging ? "merge" : to_string(phase_), fault.what};
    noted.at = fault.at;
    noted.detection = fault.detection;
    noted.recovery = recovery.time;
    noted.items_lost = fault.items_lost;
    noted.items_redone = recovery.items;
    if (!the_case.alone()) noted.sample = the_case.invalidated.size();
    noted.round = fault.round;
    if (fault.restarted) noted.restarted = {fault.restarted->round, fault.restarted->after};
    (the_case.alone() ? result_.faults : the_case.faults).push_back(std::move(noted));
    note_loss(index, fault);
  }
}

// Marks the device; repeated calls make no difference.
void Group::note_loss(std::size_t index, const DeviceFault& fault) {
  if (fault.kind != ErrorKind::out_of_memory) return mark_failed(index, fault.kind, fault.what);
  if (is_usable(index)) refuse(index, fault.what);
}

// Verifies the last sample. A case whose result is wrong has no numbers, as one without a result.
Verification::Outcome Group::check(Case& the_case, bool thorough,
                                   std::span<const std::size_t> devices) {
  Verification::Outcome outcome = verification_.check(
      the_case.verify, ids_of(given_.devices, devices), thorough, [&] { return publish(devices); });
  if (!outcome.digest.empty()) ++the_case.digests[outcome.digest];
  return outcome;
}

// Copies the results of the devices to the host. Returns false if a device failed, which loses its
// part of the result.
bool Group::publish(std::span<const std::size_t> devices) {
  for (const std::size_t i : devices) {
    if (!is_usable(i)) continue;
    try {
      OpenDevice& device = *given_.devices[i].open;
      attend(given_.backend, &device, [&] {
        complete(given_.backend, device, result_.prepared[i].program->publish(device.stream()));
      });
    } catch (const Error& error) {
      mark_failed(i, error.kind(), error.what());
      if (error.kind() != ErrorKind::interrupted && error.kind() != ErrorKind::unsupported)
        result_.faults.push_back(
            {given_.devices[i].facts.id, kind_of(error.kind()), "publish", error.what()});
      return false;  // the failure also loses the group that iterative programs share
    }
  }
  return true;
}

// Computes parts of the sample again on other devices of the case, if these are alike: unlike ones
// may give other last bits. Returns false if the case has failed, or continues without a device
// that failed meanwhile.
bool Group::check_integrity(Case& the_case, const RawSample& sample) {
  // In iterative work a slice depends on its neighbours, so that it cannot be computed by itself.
  if (is_iterative()) return true;
  if (given_.options.integrity == IntegrityLevel::off || !all_alike(the_case.devices)) return true;
  const std::size_t count = the_case.devices.size();
  const bool full = given_.options.integrity == IntegrityLevel::full, has_third = count > 2;
  const Recomputation original{the_case.verify.digest, true};
  const std::vector<std::string> ids = ids_of(given_.devices, the_case.devices);
  const auto lost_one = [&] {
    return the_case.devices.size() != count ||
           !std::all_of(the_case.devices.begin(), the_case.devices.end(),
                        [&](auto i) { return is_usable(i); });
  };
  for (std::size_t n = 0; n < (full ? count : 1); ++n) {
    const std::size_t from = full ? n : the_case.times.size() % count, to = (from + 1) % count;
    const Recomputation elsewhere = execute_again(the_case, sample, from, to);
    if (the_case.closed || lost_one()) return false;
    if (elsewhere.digest.empty())
      // The part may not fit the other device: the sample stands, without the comparison.
      return !given_.observer.stop_requested();
    if (elsewhere.digest == original.digest) {
      ++the_case.verify.recomputed;
      continue;
    }
    const Recomputation again =
        execute_again(the_case, sample, from, has_third ? (from + 2) % count : from);
    std::string what =
        "devices " + ids[from] + " and " + ids[to] + " compute other bits of the same items";
    if (from == to)
      what =
          "device " + ids[from] + " computes other bits of the same items when it is asked again";
    if (lost_one()) {  // the device that would decide which result is wrong
      the_case.verify.status = VerifyStatus::failed;
      fail(the_case, what);
      return false;
    }
    if (const auto wrong = outvoted(original, elsewhere, again, has_third, from, to)) {
      the_case.faults.push_back({ids[*wrong], "wrong_result", "verify", what});
      what += "; wrong is " + ids[*wrong];
    }
    fail_wrong(the_case, what);
    return false;
  }
  return true;
}

// Returns the result if `to` computes the items of device `from` of the case; none if a device
// failed or the session stops.
Recomputation Group::execute_again(Case& the_case, const RawSample& sample, std::size_t from,
                                   std::size_t to) {
  ReplaySource source(slices_with(sample, the_case.devices.size(), from, to));
  SampleRequest request{&given_.workload, &source};
  for (const std::size_t i : the_case.devices) request.participants.push_back(participant(i));
  request.merge_device = {static_cast<std::uint32_t>(to)};
  request.timeout = time_limit_of(the_case);
  request.stop = [&] { return given_.observer.stop_requested(); };
  RawSample again = given_.executor.run(request);
  if (again.interrupted) return {};
  if (!again.faults.empty()) {
    take_invalidated(the_case, std::move(again), the_case.devices);
    return {};
  }
  if (again.failure) {
    if (!std::exchange(said_not_computed_again_, true))
      given_.observer.warning(std::string("results are not all computed again: ") +
                              again.failure->what());
    return {};
  }
  if (given_.workload.shape().result_on_devices && !publish(the_case.devices)) return {};
  Recomputation recomputation{given_.workload.digest(), true};
  if (recomputation.digest == the_case.verify.digest && the_case.devices.size() != 2)
    return recomputation;
  try {
    recomputation.right = given_.workload.verify(VerifyLevel::full, given_.options.seed).status !=
                          Verdict::Status::failed;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::interrupted) throw;
    return {};
  }
  return recomputation;
}

bool Group::all_alike(std::span<const std::size_t> devices) const {
  const auto alike = [&](std::size_t i) {
    const Device &a = given_.devices[i].facts, &b = given_.devices[devices.front()].facts;
    return a.name == b.name && a.platform == b.platform && a.driver_version == b.driver_version;
  };
  return std::all_of(devices.begin(), devices.end(), alike);
}

void Group::fail(Case& the_case, const std::string& reason) {
  close_failed(the_case, reason);
  journal_.note_failure(the_case);
}

void Group::close_failed(Case& the_case, const std::string& reason) {
  the_case.status = Status::failed;
  the_case.reason = reason;
  the_case.closed = true;
  the_case.samples.clear();
  the_case.times.clear();
  the_case.decisions.clear();
  the_case.earlier_runs.clear();
}

void Group::fail_wrong(Case& the_case, const std::string& reason) {
  const std::string& first = given_.devices[the_case.devices.front()].facts.id;
  the_case.verify.status = VerifyStatus::failed;
  fail(the_case, the_case.devices.size() == 1 ? "device " + first + ": " + reason : reason);
  if (the_case.devices.size() > 1) return;
  // No other device took part. Cases that are compared with this device alone have no baseline.
  Fault fault{first, "wrong_result", "verify", reason};
  (the_case.alone() ? result_.faults : the_case.faults).push_back(std::move(fault));
  given_.observer.warning("device " + first + " alone computes a wrong result: " + reason);
}

// Fails cases of equal devices whose digests differ. Equal devices compute equal bits: a result
// with other bits is wrong even within the reference's bound. Which bits are right is known only if
// devices that each compute everything alone agree.
void Group::agree_on_digests() {
  if (given_.options.verify == VerifyLevel::off) return;
  const std::string& agreed = given_.digests.agreed();
  if (const std::string& written = given_.digests.written; !written.empty() && written != agreed)
    given_.observer.warning(given_.options.result_file->string() +
                            " has a result whose bits equal devices do not agree on");
  std::vector<std::size_t> everybody(in_set_);
  std::iota(everybody.begin(), everybody.end(), std::size_t{0});
  for (Case& the_case : result_.cases) {
    const auto other = std::find_if(the_case.digests.begin(), the_case.digests.end(),
                                    [&](const auto& d) { return d.first != agreed; });
    if (other == the_case.digests.end() || the_case.status != Status::ok) continue;
    if (!all_alike(everybody)) {
      the_case.verify.method += "; devices of another kind give other last bits";
    } else if (agreed.empty()) {
      the_case.verify.status = VerifyStatus::failed;
      fail(the_case,
           "equal devices computed different bits, and no other device decides which are right");
    } else {
      fail_wrong(the_case, "the result " + other->first + " differs from " + agreed +
                               ", which several devices computed alone");
    }
  }
}

void Group::connect() {
  if (const auto estimate = exchange_.connect()) predictor_.set_exchange(*estimate);
}

void Group::exchange(SampleRequest& request, const Prediction& prediction,
                     std::span<const std::size_t> devices) {
  if (exchange_.any() && devices.size() > 1)
    exchange_.add_to(request, predictor_.exchanging(prediction, *request.source), devices);
}

void Group::stop_exchanging() {
  if (exchange_.any()) predictor_.set_exchange({});
  exchange_.disband();
}

// Runs a sample. After a failed exchange the group cannot be used: what its devices still hold of
// it is not known.
RawSample Group::execute(const SampleRequest& request) {
  RawSample sample = given_.executor.run(request);
  if (request.peers != nullptr && (sample.failure || !sample.faults.empty())) stop_exchanging();
  return sample;
}

void Group::report_live(const Case& the_case, std::span<const std::size_t> devices, bool counts,
                        const LiveSample& before, const LiveSample& now) {
  LiveEvent event = live_event(given_.workload, before, now);
  event.suite = given_.problem.suite->name;
  event.mode = given_.mode;
  event.strategy = the_case.strategy().info->name;
  for (const std::size_t i : devices) event.devices.push_back(given_.devices[i].facts.id);
  event.sample = counts ? the_case.times.size() + 1 : 0;
  given_.observer.live(event);
}

bool Group::is_iterative() const { return given_.workload.iterative() != nullptr; }

// Connects the remaining devices again: states of iterative work are in memory of the group, so
// that programs are useless once it is broken up.
void Group::connect_those_left() {
  while (is_iterative() && exchange_.is_lost()) reconnect();  // may find another failure
}

void Group::reconnect() {
  for (std::size_t i = 0; i < result_.prepared.size(); ++i) {
    if (result_.prepared[i].program && given_.devices[i].open) release_program(i);
  }
  exchange_.disconnect();
  connect();
  for (std::size_t i = 0; i < result_.prepared.size(); ++i) {
    Prepared& mine = result_.prepared[i];
    if (given_.devices[i].lost || !given_.devices[i].open || mine.capacity.fits == 0) continue;
    const SetupCost cost = mine.cost;  // the record has the cost of the first preparation
    const Nanos upload = mine.upload;
    prepare_device(i);
    mine.cost = cost;
    mine.upload = upload;
  }
}

// Restarts a failed iterative sample from the last checkpoint, as the state of the failed device is
// gone; on the remaining devices, or else on another; repeats this while devices fail. `devices`:
// those of the sample; a device that takes over is added.
RawSample Group::restart_from_checkpoint(const Case& the_case, const SampleRequest& first,
                                         RawSample sample, std::vector<std::size_t>& devices) {
  for (std::size_t known = 0;
       sample.failure && !sample.interrupted && known < sample.faults.size();) {
    for (; known < sample.faults.size(); ++known) {
      const DeviceFault& fault = sample.faults[known];
      note_loss(devices[fault.device.value], fault);
    }
    connect_those_left();
    std::vector<std::size_t> left;
    std::vector<DeviceIndex> places;
    for (std::uint32_t i = 0; i < devices.size(); ++i) {
      if (!is_usable(devices[i])) continue;
      left.push_back(devices[i]);
      places.push_back({i});
    }
    if (left.empty()) {
      const auto other = the_case.alone() ? std::nullopt : fail_over(the_case);
      if (!other) return sample;
      places.push_back({static_cast<std::uint32_t>(devices.size())});
      devices.push_back(*other);
      left.push_back(*other);
    }
    if (left.size() > 1 && !exchange_.any()) return sample;
    Prediction prediction;
    prediction.estimates = predictor_.estimate(left);
    SampleRequest request = first;
    request.participants.clear();
    request.places.clear();
    request.exchanging.clear();
    request.peers = nullptr;
    request.reserve = {};
    for (const std::size_t i : left) request.participants.push_back(participant(i));
    request.merge_device = fastest_of(prediction.estimates.devices);
    std::unique_ptr<SliceSource> source;
    try {
      predictor_.choose(prediction, the_case.strategy());
      source = predictor_.begin(prediction, the_case.strategy(), {});
    } catch (const Error& error) {
      sample.failure = error;
      return sample;
    }
    request.source = source.get();
    request.again = true;
    exchange(request, prediction, left);
    MovableWorkload* const movable = given_.workload.movable();
    const std::uint32_t round = movable != nullptr ? movable->checkpointed_rounds() : 0;
    sample = joined(std::move(sample), execute(request), round, places);
  }
  return sample;
}

GroupResult run_group(const GroupRequest& request) { return Group(request).run(); }

}  // namespace mgpu
