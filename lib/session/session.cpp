// Runs a session from top to bottom.
#include "lib/session/session.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "lib/exec/driver_call.hpp"
#include "lib/exec/leak.hpp"
#include "lib/session/group.hpp"
#include "lib/session/kernel_variants.hpp"
#include "lib/session/missing_rates.hpp"
#include "lib/session/recorder.hpp"
#include "lib/session/settle.hpp"
#include "lib/session/time_left.hpp"
#include "lib/session/verification_watch.hpp"
#include "lib/session/watch.hpp"

namespace mgpu {
namespace {

// Opens the devices of the session, each in a context of its own: contexts share only the host
// memory that workloads pin.
std::vector<SessionDevice> open_devices(Backend& backend, const SessionOptions& options,
                                        Report& report, SessionObserver& observer) {
  std::vector<SessionDevice> devices;
  std::string why;
  for (std::size_t i = 0; i < options.devices.size(); ++i) {
    const Device& facts = options.devices[i];
    SessionDevice device;
    device.facts = facts;
    if (i < options.handicaps.size()) device.handicap = options.handicaps[i];
    try {
      open_device(backend, device);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::interrupted) throw;
      device.lost = true;
      device.hung = error.kind() == ErrorKind::timeout;
      device.lost_why = why = error.what();
      report_failed(device, observer);
      report.faults.push_back({facts.id, kind_of(error.kind()), "set_up", why});
    }
    devices.push_back(std::move(device));
  }
  if (std::all_of(devices.begin(), devices.end(),
                  [](const SessionDevice& device) { return device.lost; })) {
    throw Error(ErrorKind::no_device, "no device could be opened: " + why);
  }
  if (options.reserve) {
    SessionDevice& device = devices.emplace_back();
    device.facts = *options.reserve;
    device.reserve = true;
  }
  return devices;
}

// Looks for devices again: those that vanished take no part from now on. Returns whether there are
// others, which only another process can use.
bool finds_others(const SessionOptions& options, std::span<SessionDevice> devices, Report& report,
                  SessionObserver& observer) {
  const std::vector<FoundDevice> found = options.find_devices();
  const auto is_found = [&](const SessionDevice& device) {
    return std::any_of(found.begin(), found.end(), [&](const FoundDevice& other) {
      return other.identity == identity_of(device.facts);
    });
  };
  for (SessionDevice& device : devices) {
    if (device.lost || device.reserve || is_found(device)) continue;
    device.lost = device.vanished = true;
    device.lost_why = "it is not found any more";
    report_failed(device, observer);
    report.faults.push_back(
        {device.facts.id, kind_of(ErrorKind::device), "find_devices", device.lost_why});
    leak(std::move(device.open));
  }
  bool others = false;
  for (const FoundDevice& other : found) {
    const auto known = std::find_if(devices.begin(), devices.end(), [&](const auto& device) {
      return other.identity == identity_of(device.facts);
    });
    if (known != devices.end() && !known->vanished) continue;
    observer.warning("device " + other.id + " " + other.name +
                     (known == devices.end() ? " is new" : " is there again"));
    others = true;
  }
  return others;
}

void take_cached_variants(Workload& workload, const std::map<std::string, std::string>& variants,
                          std::span<const SessionDevice> devices, SessionObserver& observer) {
  std::vector<std::string> warnings;
  for (const SessionDevice& device : devices) {
    if (device.open) take_variants(workload, variants, device.open->resources().traits(), warnings);
  }
  for (const std::string& warning : warnings) observer.warning(warning);
}

// Records the latest clock map of each device; a group that could not use one keeps the older.
void note_clocks(Report& report, const GroupResult& group) {
  for (std::size_t i = 0; i < report.devices.size(); ++i) {
    if (group.prepared[i].clock.method != "none") report.devices[i].clock = group.prepared[i].clock;
  }
}

// Adds the reserve to the report once it has been opened.
void note_reserve(Report& report, std::span<const SessionDevice> devices) {
  const SessionDevice& last = devices.back();
  if (last.reserve && last.open && report.devices.size() < devices.size())
    report.devices.push_back({last.facts, report.devices.size(), {}, std::nullopt, {}});
}

bool can_do(const SuiteInfo& suite, Mode mode) {
  return std::find(suite.modes.begin(), suite.modes.end(), mode) != suite.modes.end();
}

std::size_t groups_of(const Problem& problem, const SessionOptions& options) {
  return static_cast<std::size_t>(
      std::count_if(options.modes.begin(), options.modes.end(),
                    [&](Mode mode) { return can_do(*problem.suite, mode); }));
}

std::size_t count_groups(const SessionOptions& options) {
  std::size_t groups = 0;
  for (const Problem& problem : options.problems) groups += groups_of(problem, options);
  return groups;
}

// Adds devices of earlier runs: rows of finished groups may name one that this run does not have,
// such as a reserve.
void take_over_devices(Report& report, std::span<const DeviceRecord> earlier) {
  for (const DeviceRecord& record : earlier) {
    const auto same =
        std::find_if(report.devices.begin(), report.devices.end(),
                     [&](const DeviceRecord& mine) { return mine.device.id == record.device.id; });
    if (same == report.devices.end()) {
      report.devices.push_back(record);
    } else {
      same->clock = record.clock;
      same->before = record.before;
      same->after = record.after;
    }
  }
}

// Records the settings `now`. Returns those with which samples of an unfinished group were taken:
// the earlier run may have ended with others.
DeviceState begin_state(DeviceRecord& record, DeviceState now) {
  if (record.before == DeviceState{}) record.before = now;
  if (record.after == DeviceState{}) record.after = now;
  return std::exchange(record.after, std::move(now));
}

// Returns the settled options of an unfinished group, among `count` groups from number `first`;
// null: there is none.
const std::map<std::string, std::string>* settled_earlier(const SessionOptions& options,
                                                          std::size_t first, std::size_t count) {
  if (!options.continued) return nullptr;
  const auto at = options.continued->under_way.lower_bound(first);
  return at == options.continued->under_way.end() || at->first >= first + count
             ? nullptr
             : &at->second.group.settled;
}

// Notes results that an earlier run verified for this problem in another mode.
void note_digests(Digests& digests, std::span<const RunRecord> rows) {
  for (const RunRecord& run : rows) {
    if (run.status != Status::ok || run.verify.status != VerifyStatus::passed) continue;
    digests.note(run.verify.digest, run.devices);
  }
}

// Builds the programs of the workload on all devices, so that the driver has them in its cache.
void build_programs(Backend& backend, GroupWorkload& used, Mode mode,
                    std::span<SessionDevice> devices, SessionObserver& observer) {
  for (SessionDevice& device : devices) {
    if (device.lost || !device.open) continue;
    try {
      attend(backend, device.open.get(), [&] {
        DeviceResources& resources = device.open->resources();
        const Capacity capacity = used.workload->capacity(resources.traits(), mode);
        if (capacity.fits > 0) used.workload->program(resources, mode, capacity);
      });
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::interrupted || error.kind() == ErrorKind::input) throw;
      observer.warning("device " + device.facts.id + ": " + error.what());
      if (try_drain(backend, *device.open)) continue;
      device.lost = used.memory_in_use = true;
      leak(std::move(device.open));
    }
  }
}

}  // namespace

Report run_session(Backend& backend, const SessionOptions& options, Report report,
                   SessionObserver& observer) {
  const LimitsInForce limits(
      backend, {options.case_timeout.value_or(backend.limits().answer), options.build_timeout,
                [&observer] { return observer.stop_requested(); }});
  std::vector<SessionDevice> devices;
  try {
    devices = open_devices(backend, options, report, observer);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::interrupted) throw;
    report.complete = false;
    observer.recorded(report);
    return report;
  }
  const std::vector<DeviceRecord> earlier_devices = std::exchange(report.devices, {});
  for (std::size_t i = 0; i < options.devices.size(); ++i) {
    const auto& known = options.calibration.devices;
    report.devices.push_back(
        {devices[i].facts, i, {}, i < known.size() ? known[i] : std::nullopt, devices[i].handicap});
  }
  take_over_devices(report, earlier_devices);
  const auto give_up_at =
      options.time_limit ? std::optional(backend.now() + *options.time_limit) : std::nullopt;
  Executor executor(backend, devices.size());
  Watch watch(backend, options, report.telemetry);
  std::vector<DeviceState> states = watch.states();
  for (std::size_t i = 0; i < states.size(); ++i)
    states[i] = begin_state(report.devices[i], std::move(states[i]));

  const std::size_t finished = options.continued ? options.continued->groups : 0;
  const std::size_t rows_of_a_group = options.device_counts.size() * options.strategies.size();
  std::size_t number = 0;  // of the current group
  WholeSession whole(observer, backend, count_groups(options) - finished);
  bool interrupted = false;
  std::set<std::string> told;  // caveats already reported
  SuiteRates rates = options.suite_rates;
  forget_cpus(devices, rates);
  for (std::size_t index = 0; index < options.problems.size(); ++index) {
    if (const std::size_t own = groups_of(options.problems[index], options);
        own == 0 || number + own <= finished) {
      number += own;
      continue;
    }
    const auto variants = index < options.variants.size() ? options.variants[index]
                                                          : std::map<std::string, std::string>();
    const auto failed = [&](const SessionDevice& device, const Error& error) {
      if (device.lost) {
        report_failed(device, observer);
      } else {
        observer.warning("device " + device.facts.id +
                         " failed while its rate was measured: " + error.what());
      }
      report.faults.push_back({device.facts.id, kind_of(error.kind()), "probe", error.what()});
    };
    Problem asked = options.problems[index];
    SuiteRates trials;
    if (options.sizes_within) {
      if (const auto shorten = asked.suite->optional.make_short) shorten(asked.params);
      observer.progress(
          {asked.suite->name + ": choosing a size", 0, 0, number, count_groups(options)});
      asked.params.size = asked.suite->quick_size;
      if (!give_up_at || backend.now() < *give_up_at)
        asked.params.size = size_by_trials(backend, executor, asked, variants,
                                           std::span(devices).first(in_set(devices)),
                                           *options.sizes_within, options.verify, trials, failed);
      if (asked.suite->optional.resolve != nullptr) asked.suite->optional.resolve(asked.params);
    }
    observer.progress({asked.suite->name + ": preparing inputs and kernels", 0, 0, number,
                       count_groups(options)});
    const Problem problem = settled(
        asked, backend, devices, options.peer,
        settled_earlier(options, number, groups_of(options.problems[index], options)), observer);
    for (const auto& [key, rate] : trials)
      rates.emplace(std::pair(work_of(problem), key.second), rate);
    GroupWorkload used;
    used.workload = make_workload(problem, options.devices);
    Workload* const workload = used.workload.get();
    workload->set_host_watch(verification_watch(backend, observer));
    for (const std::string& caveat : workload->shape().caveats) {
      if (told.insert(caveat).second) observer.warning(caveat);
    }
    take_cached_variants(*workload, variants, devices, observer);
    std::vector<OpenDevice*> open;
    for (const SessionDevice& device : devices) {
      if (device.open) open.push_back(device.open.get());
    }
    if (options.only_builds) {
      build_programs(backend, used, options.modes.front(), devices, observer);
      number += groups_of(problem, options);
      continue;
    }
    const Nanos begin = backend.now();
    used.pinned = backend.pin(workload->transfer_memory(), open);
    const Nanos pin = used.pinned ? backend.now() - begin : Nanos{};

    const bool late = give_up_at && backend.now() >= *give_up_at;
    if (!options.given_estimates && !late) {
      try {
        measure_missing_rates(backend, executor, problem, variants,
                              std::span(devices).first(in_set(devices)), rates, failed,
                              options.stop.probe_turns());
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::interrupted) throw;  // the cases report the interruption
      }
    }
    Digests digests;  // of this problem, in all modes
    for (const Mode mode : options.modes) {
      if (!can_do(*problem.suite, mode)) continue;
      if (number < finished) {
        note_digests(digests,
                     std::span(report.runs).subspan(number++ * rows_of_a_group, rows_of_a_group));
        continue;
      }
      if (options.find_devices && number > finished &&
          finds_others(options, std::span(devices).first(in_set(devices)), report, observer)) {
        observer.found_devices();
        interrupted = true;
        break;
      }
      const GroupRequest request{backend,   executor,           options, problem, mode,
                                 *workload, used.memory_in_use, devices, rates,   digests,
                                 whole,     give_up_at,         number++};
      const GroupResult group = run_group(request);
      whole.group_ended();
      note_reserve(report, devices);
      note_clocks(report, group);
      report.faults.insert(report.faults.end(), group.faults.begin(), group.faults.end());
      note_exchange(report, group);
      report.cluster = backend.cluster();
      const std::vector<TelemetryTrack> tracks = watch.take();
      const std::vector<DeviceState> before = std::exchange(states, watch.states());
      for (std::size_t i = 0; i < states.size(); ++i) report.devices[i].after = states[i];
      for (RunRecord& run : record_group(group, recorded(request), pin, tracks)) {
        if (!run.samples.empty()) {
          add_state_warnings(run, options.devices, before, states);
          add_core_warning(run, options.devices, backend.is_virtual() ? 0 : options.usable_cores);
        }
        report.runs.push_back(std::move(run));
      }
      interrupted |= group.interrupted;
      if (!interrupted) observer.finished(number);
      observer.recorded(report);
      if (interrupted) break;
    }
    if (interrupted) break;
  }
  report.complete = !interrupted;
  observer.recorded(report);
  return report;
}

}  // namespace mgpu
