#include "lib/session/simulated.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/quantity.hpp"
#include "lib/plan/exchange.hpp"
#include "lib/session/group.hpp"
#include "lib/session/recorder.hpp"
#include "lib/session/time_left.hpp"

namespace mgpu {
namespace {

CommandKind kind_of(SimulatedCommand::Kind kind) {
  using enum SimulatedCommand::Kind;
  return kind == upload     ? CommandKind::upload
         : kind == compute  ? CommandKind::compute
         : kind == download ? CommandKind::download
                            : CommandKind::exchange;
}

Name label_of(const SimulatedCommand& command, SimulatedBatch::Kind of) {
  using enum SimulatedCommand::Kind;
  static const Name none, slice("slice"), round("round"), collect("collect"), sends("put"),
      waits("wait");
  if (command.kind == put) return sends;
  if (command.kind == wait) return waits;
  if (command.kind != compute) return none;
  if (of == SimulatedBatch::Kind::collect) return collect;
  return command.round ? round : slice;
}

// Returns the command with the stamps of a device whose clock is the host's.
RawCommand stamped(const SimulatedCommand& command, const SimulatedBatch& batch,
                   const PeerLinks& links) {
  const auto stamp = [](Nanos at) { return static_cast<std::uint64_t>(at.count()); };
  RawCommand raw{kind_of(command.kind), label_of(command, batch.kind), command.bytes,
                 stamp(batch.enqueued), stamp(batch.enqueued),         stamp(command.started),
                 stamp(command.ended)};
  if (raw.kind == CommandKind::exchange)
    raw.exchange = {command.peer, links.of(batch.device.value, command.peer.value).path,
                    command.kind == SimulatedCommand::Kind::wait};
  raw.round = command.round;
  return raw;
}

// Adds the spans in which the device has something in flight, and in which it waits for others.
void add_spans(RawSample& sample, DeviceIndex device, std::span<const SimulatedBatch> log) {
  Nanos reached{};
  const auto add = [&](HostState state, Nanos until) {
    if (until > reached) sample.spans.push_back({device, state, reached, until});
    reached = std::max(reached, until);
  };
  for (const SimulatedBatch& batch : log) {
    if (batch.device != device) continue;
    add(HostState::sync, batch.enqueued);
    add(HostState::in_flight, batch.finished);
  }
  add(HostState::sync, sample.end);
}

RawSample sample_of(const Simulation& simulated, std::span<const SimulatedBatch> log,
                    const PeerLinks& links) {
  RawSample sample;
  sample.end = sample.merge_end = simulated.makespan;
  sample.merge_begin = simulated.makespan - simulated.merge;
  std::vector<std::int32_t> slices(simulated.devices.size());
  for (const SimulatedBatch& batch : log) {
    using enum SimulatedBatch::Kind;
    std::int32_t number = batch.kind == prepare   ? kPrepare
                          : batch.kind == collect ? kCollect
                                                  : kMerge;
    if (batch.kind == slice) {
      number = slices[batch.device.value]++;
      sample.slices.push_back({{batch.device, number, batch.slice.begin, batch.slice.end,
                                batch.enqueued, batch.finished}});
    }
    RawBatch raw{batch.device, number, {}};
    for (const SimulatedCommand& command : batch.commands)
      raw.commands.push_back(stamped(command, batch, links));
    if (!raw.commands.empty()) sample.batches.push_back(std::move(raw));
  }
  for (std::uint32_t i = 0; i < simulated.devices.size(); ++i) add_spans(sample, {i}, log);
  return sample;
}

Shape shape_of(const ScenarioWork& work) {
  const auto all = [&](double per_item) {
    return static_cast<Bytes>(std::llround(per_item * static_cast<double>(work.items)));
  };
  Shape shape;
  shape.items = work.items;
  shape.granularity = work.granularity;
  shape.unit = work.unit;
  shape.cost = work.cost;
  shape.rounds = work.rounds;
  shape.ops = work.cost.ops * static_cast<double>(work.items);
  shape.rate_unit = work.rate_unit;
  shape.bytes_in = all(work.cost.in_bytes) + work.cost.replicated;
  shape.bytes_out = all(work.cost.out_bytes);
  return shape;
}

// Takes the samples of all cases in one mode.
class SimulatedGroup {
 public:
  SimulatedGroup(const Scenario& scenario, const SessionOptions& options, Mode mode,
                 SessionObserver& observer)
      : scenario_(scenario), options_(options), mode_(mode), observer_(observer) {}

  GroupResult run(const std::function<void(std::span<const Case>)>& tell) {
    result_.cases = cases_of(options_, options_.devices.size());
    result_.prepared.resize(options_.devices.size());
    for (Prepared& prepared : result_.prepared) prepared.clock.method = "virtual";
    connect();
    for (Case& the_case : result_.cases) {
      tell(result_.cases);
      take_samples(the_case);
      result_.interrupted = !the_case.closed && !options_.stop.satisfied(the_case.times);
      if (result_.interrupted) {
        skip_unsampled(result_.cases, "interrupted before its first sample");
        break;
      }
      the_case.closed = true;
    }
    tell(result_.cases);
    return std::move(result_);
  }

 private:
  // Decides whether devices exchange data over these links, as devices of a run would.
  void connect() {
    const ExchangeEstimate& stated = scenario_.exchange;
    const bool gathers = stated.gathers && mode_.transfers() && scenario_.work.cost.replicated > 0;
    if (stated.links.empty() || (!gathers && stated.combines == 0 && stated.rounds == 0) ||
        (options_.peer == PeerPath::staged && stated.rounds == 0))
      return;
    const std::vector<PeerPath> paths = paths_of(stated.links);
    if (const std::string lacking = lacking_path(); !lacking.empty()) {
      result_.exchange_notes.push_back("devices exchange no data: " + lacking);
      return observer_.warning(result_.exchange_notes.back());
    }
    connected_ = stated.rounds > 0 || is_worth_exchanging(paths, options_.peer);
    predicted_ = connected_ && std::all_of(paths.begin(), paths.end(),
                                           [&](PeerPath path) { return path == paths.front(); });
  }

  // Names the first pair that does not have the path asked for; empty: all have it.
  std::string lacking_path() const {
    const PeerLinks& links = scenario_.exchange.links;
    for (std::size_t from = 0; options_.peer && from < links.devices(); ++from) {
      for (std::size_t to = 0; to < links.devices(); ++to) {
        if (from != to && links.of(from, to).path != *options_.peer)
          return fmt::format("devices {} and {} have no {} path", options_.devices[from].id,
                             options_.devices[to].id, to_string(*options_.peer));
      }
    }
    return {};
  }

  void take_samples(Case& the_case) {
    const std::vector<std::size_t> asked_for = the_case.devices;
    std::erase_if(the_case.devices, [&](std::size_t i) {
      const Holds holds =
          held_by(scenario_.work, scenario_.devices[i].memory, mode_, scenario_.devices.size());
      if (holds.fits == 0) result_.prepared[i].capacity.reason = holds.why_not;
      return holds.fits == 0;
    });
    if (the_case.devices.empty()) {
      the_case.devices = asked_for;
      return close(the_case, Status::unsupported,
                   fmt::format("device {}: {}", options_.devices[asked_for.front()].id,
                               result_.prepared[asked_for.front()].capacity.reason));
    }
    ScenarioEstimates estimates = estimates_among(scenario_, mode_, the_case.devices);
    if (!connected_) estimates.real.exchange = {};
    if (!predicted_) estimates.given.exchange = {};
    Prediction& prediction = the_case.prediction;
    prediction.estimates = estimates.given;
    const PlanRequest asked = request_of(scenario_.work, mode_, prediction.estimates);
    the_case.verify.method = "not verified: simulated, so that nothing was computed";
    try {
      choose(prediction, the_case.strategy(), asked);
      predict(prediction, the_case.strategy(), the_case.history, asked);
      while (!options_.stop.satisfied(the_case.times) && !observer_.stop_requested()) {
        if (!take_sample(the_case, estimates, asked)) return;
      }
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
      close(the_case, Status::unsupported, error.what());
    }
  }

  // Takes a sample. Returns false if it closed the case.
  bool take_sample(Case& the_case, const ScenarioEstimates& estimates, const PlanRequest& asked) {
    const std::unique_ptr<SliceSource> source =
        begin(the_case.prediction, the_case.strategy(), the_case.history, asked);
    if (scenario_.work.rounds > 0 && the_case.devices.size() > 1 && !connected_) {
      close(the_case, Status::unsupported,
            "these devices cannot exchange data, which they have to after each round");
      return false;
    }
    const SetEstimates real = while_at_work(estimates, source->first_shares());
    std::vector<DeviceEstimate> used;
    std::vector<SimulatedBatch> log;
    const Simulation simulated =
        simulate(as_chosen(the_case.prediction, request_of(scenario_.work, mode_, real), used),
                 *source, &log);
    if (simulated.makespan <= Nanos{}) {
      close(the_case, Status::failed,
            "a sample took " + format_duration(simulated.makespan) + ", of which no rate follows");
      return false;
    }
    RawSample sample = sample_of(simulated, log, real.exchange.links);
    the_case.history.push_back(share_of(sample, the_case.devices.size()));
    the_case.history.back().first = source->first_shares();
    the_case.times.push_back(sample.makespan());
    the_case.decisions.push_back({});
    the_case.samples.push_back(std::move(sample));
    return true;
  }

  static void close(Case& the_case, Status status, std::string reason) {
    the_case.status = status;
    the_case.reason = std::move(reason);
    the_case.closed = true;
  }

  const Scenario& scenario_;
  const SessionOptions& options_;
  const Mode mode_;
  SessionObserver& observer_;
  bool connected_ = false, predicted_ = false;  // devices exchange data; predictions include that
  GroupResult result_;
};

}  // namespace

Timeline timeline_of(const Simulation& simulated, std::span<const SimulatedBatch> log,
                     const PeerLinks& links) {
  return to_timeline(sample_of(simulated, log, links),
                     std::vector<ClockMap>(simulated.devices.size()));
}

SuiteInfo scenario_suite(const Scenario& scenario) {
  SuiteInfo info;
  // The name must keep its rows from being taken for measurements; a simulation of a simulation has
  // the same prefix once.
  info.name = scenario.work.name;
  if (!info.name.starts_with("simulated"))
    info.name = info.name.empty() ? "simulated" : "simulated " + info.name;
  info.summary = "the work of a scenario, on hypothetical devices";
  info.size_name = scenario.work.size_name;
  info.default_size = scenario.work.size > 0 ? scenario.work.size : scenario.work.items;
  info.modes = {Mode::resident, Mode::end_to_end};
  return info;
}

Report simulate_session(const Scenario& scenario, const SessionOptions& options, Report report,
                        SessionObserver& observer) {
  const Problem& problem = options.problems.front();
  std::vector<SessionDevice> devices(options.devices.size());
  for (std::size_t i = 0; i < devices.size(); ++i) {
    devices[i].facts = options.devices[i];
    report.devices.push_back({options.devices[i], i, {}, std::nullopt, {}});
  }
  report.telemetry.reason = "the devices and their clock are simulated";
  const std::vector<Mode>& modes = options.modes;
  const Shape shape = shape_of(scenario.work);
  bool interrupted = false;
  for (std::size_t number = 0; number < modes.size() && !interrupted; ++number) {
    const GroupResult group = SimulatedGroup(scenario, options, modes[number], observer)
                                  .run([&](std::span<const Case> cases) {
                                    Progress progress =
                                        progress_of(cases, problem, modes[number], options.stop);
                                    progress.left.reset();  // it is by the clock of the simulation
                                    progress.group = number;
                                    progress.groups = modes.size();
                                    observer.progress(progress);
                                  });
    for (std::size_t i = 0; i < devices.size(); ++i)
      report.devices[i].clock = group.prepared[i].clock;
    note_exchange(report, group);
    for (RunRecord& run : record_group(
             group, {options, problem, modes[number], shape, scenario.work.cost, devices, {}, true},
             {}, {}))
      report.runs.push_back(std::move(run));
    interrupted = group.interrupted;
    if (!interrupted) observer.finished(number + 1);
    observer.recorded(report);
  }
  report.complete = !interrupted;
  observer.recorded(report);
  return report;
}

}  // namespace mgpu
