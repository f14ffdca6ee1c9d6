// What becomes of a group's devices and cases when something fails: who is lost, who goes on, what
// is kept apart.
#include <algorithm>
#include <utility>

#include "lib/exec/driver_call.hpp"
#include "lib/exec/leak.hpp"
#include "lib/session/group_run.hpp"

namespace mgpu {
namespace {

constexpr std::size_t kEnoughToStand =
    3;  // with as many samples a case keeps its figures when one of its devices is lost
constexpr unsigned kMostFailures = 3;  // of a device, after which it is not opened again

}  // namespace

const char* kind_of(ErrorKind kind) {
  return kind == ErrorKind::timeout         ? "hang"
         : kind == ErrorKind::out_of_memory ? "out_of_memory"
                                            : "error";
}

// A device that failed in an earlier group gets a new context, unless it hung or has failed too
// often.
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

void Group::lose(std::size_t index, ErrorKind kind, const std::string& what) {
  SessionDevice& device = given_.devices[index];
  if (device.lost) return;
  if (kind == ErrorKind::interrupted) return give_up(index);  // nothing is wrong with it
  device.hung = kind == ErrorKind::timeout;
  ++device.failures;
  device.lost_why = what;
  say_lost(device, given_.observer);
  give_up(index);
}

// After any error it is unknown what the device still does: unless it is known to be idle, memory
// that it may touch is never freed.
void Group::give_up(std::size_t index) {
  SessionDevice& device = given_.devices[index];
  device.lost = true;
  break_up();
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
  result_.lost_any = result_.lost_any || !at_rest;
  return at_rest;
}

// The device lives, but is of no more use to this problem.
void Group::refuse(std::size_t index, const std::string& why) {
  result_.prepared[index].capacity = {0, 0, 0, why};
  given_.observer.warning("device " + given_.devices[index].facts.id + " takes no more part in " +
                          given_.problem.suite->name + ": " + why);
  release_program(index);
}

// For a case none of whose devices is left: another device of the set, or else the one in reserve.
std::optional<std::size_t> Group::stand_in(const Case& the_case) {
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
      say_lost(device, given_.observer);
      return std::nullopt;
    }
  }
  if (!result_.prepared[reserve].program && result_.prepared[reserve].capacity.reason.empty())
    prepare_device(reserve);
  return is_usable(reserve) ? std::optional(reserve) : std::nullopt;
}

// Cases one of whose devices lives, but cannot do this.
void Group::close_unsupported_cases() {
  for (Case& the_case : result_.cases) {
    for (const std::size_t i : the_case.devices) {
      if (given_.devices[i].lost || result_.prepared[i].program) continue;
      the_case.closed = true;
      the_case.status = Status::unsupported;
      the_case.reason =
          "device " + given_.devices[i].facts.id + ": " + result_.prepared[i].capacity.reason;
      break;
    }
  }
}

// Cases go on with the devices that are left; what was measured with all of them stands, where it
// is enough.
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
  the_case.set_aside += the_case.times.size();
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
    const auto other = the_case.alone() ? std::nullopt : stand_in(the_case);
    if (!other) {
      the_case.devices = before;
      the_case.closed = true;
      the_case.status =
          the_case.before || !the_case.disturbed.empty() ? Status::failed : Status::skipped;
      the_case.reason = why;
      return;
    }
    the_case.devices = {*other};
    estimates = predictor_.estimate(the_case.devices);
  }
  estimates.exchange = predictor_.exchange_among(the_case.devices);
  if (!estimates.devices.empty()) predict(the_case);
}

// A device was lost: the sample is kept apart, and its result is verified as thoroughly as a first
// one.
void Group::take_disturbed(Case& the_case, RawSample sample, std::vector<std::size_t> devices) {
  note_faults(the_case, sample, devices);
  Case::Disturbed disturbed{std::move(sample), std::move(devices), VerifyStatus::off, {}};
  if (phase_ == "sample") disturbed.samples_before = the_case.set_aside + the_case.times.size();
  if (disturbed.sample.failure) {
    disturbed.reason = disturbed.sample.failure->what();
  } else {
    const VerifyRecord before = the_case.verify;
    const Verification::Outcome outcome = check(the_case, true, disturbed.devices);
    disturbed.reason = outcome.why;
    disturbed.verify = outcome.status == Verification::Outcome::Status::unknown
                           ? VerifyStatus::off
                           : the_case.verify.status;
    if (disturbed.verify == VerifyStatus::failed) {
      the_case.disturbed.push_back(std::move(disturbed));
      return fail_wrong(the_case, outcome.why);
    }
    if (outcome.status == Verification::Outcome::Status::unknown) the_case.verify = before;
  }
  the_case.disturbed.push_back(std::move(disturbed));
  shrink_cases();
}

void Group::note_faults(Case& the_case, const RawSample& sample,
                        std::span<const std::size_t> devices) {
  for (const DeviceFault& fault : sample.faults) {
    const std::size_t index = devices[fault.device.value];
    const Recovery recovery = recovery_of(sample, fault);
    Fault noted{given_.devices[index].facts.id, kind_of(fault.kind),
                fault.merging ? "merge" : phase_, fault.what};
    noted.at = fault.at;
    noted.detection = fault.detection;
    noted.recovery = recovery.time;
    noted.items_lost = fault.items_lost;
    noted.items_redone = recovery.items;
    if (!the_case.alone()) noted.sample = the_case.disturbed.size();
    noted.round = fault.round;
    if (fault.begun_again) noted.begun_again = {fault.begun_again->round, fault.begun_again->after};
    (the_case.alone() ? result_.faults : the_case.faults).push_back(std::move(noted));
    note_loss(index, fault);
  }
}

// More than once makes no difference.
void Group::note_loss(std::size_t index, const DeviceFault& fault) {
  if (fault.kind != ErrorKind::out_of_memory) return lose(index, fault.kind, fault.what);
  if (is_usable(index)) refuse(index, fault.what);
}

}  // namespace mgpu
