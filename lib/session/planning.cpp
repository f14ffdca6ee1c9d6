#include "lib/session/planning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/plan/exchange.hpp"
#include "lib/plan/scaling.hpp"
#include "lib/plan/simulator.hpp"
#include "lib/predict/predictor.hpp"
#include "lib/predict/suite_rates.hpp"
#include "lib/session/simulated.hpp"

namespace mgpu {
namespace {

// Returns the rate of the device, or of one of its kind; null if there is none.
const SuiteRate* rate_of(const SessionOptions& options, const std::string& work,
                         const Device& device) {
  const auto own = options.suite_rates.find({work, device.id});
  if (own != options.suite_rates.end()) return &own->second;
  for (const Device& other : options.devices) {
    const auto rate = options.suite_rates.find({work, other.id});
    if (same_kind(device, other) && rate != options.suite_rates.end()) return &rate->second;
  }
  return nullptr;
}

// Largest number of devices that is simulated, each of them alone as well.
constexpr std::size_t kMostSimulated = 64;

struct SimulatedChoice {
  Simulation sample;
  std::vector<SimulatedBatch> log;
};

SimulatedChoice simulate_choice(const PlanChoice& choice, const PlanRequest& request) {
  const std::vector<DeviceEstimate> used = devices_of_choice(choice, request);
  PlanRequest asked = request;
  asked.devices = used;
  SimulatedChoice made;
  made.sample = simulate(asked, *begin_chosen(choice, request, {}), &made.log);
  return made;
}

// Returns the predicted time of each device alone; none if the work does not fit on it.
std::vector<std::optional<Nanos>> times_alone(const PlanRequest& request) {
  std::vector<std::optional<Nanos>> alone(request.devices.size());
  for (std::size_t i = 0; i < alone.size(); ++i) {
    PlanChoice only;
    only.chosen.strategy = strategy_with(&StrategyTraits::single_device).info;
    only.uses.resize(alone.size());
    only.uses[i] = true;
    try {
      alone[i] = simulate_choice(only, request).sample.makespan;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
    }
  }
  return alone;
}

struct PlannedExchange {
  ExchangeChoice choice;
  Nanos predicted{};
};

// Returns "--partition relay would take 72.1 ms (256 MiB to each device), --partition columns ...",
// the fastest first.
std::string comparison(std::vector<PlannedExchange> all) {
  std::stable_sort(all.begin(), all.end(), [](const PlannedExchange& a, const PlannedExchange& b) {
    return a.predicted < b.predicted;
  });
  std::string text;
  for (const auto& [choice, predicted] : all)
    text += fmt::format("{}{}{} {} ({} to each device)", text.empty() ? "" : ", ", choice.option,
                        text.empty() ? " would take" : "", format_duration(predicted),
                        format_bytes(choice.exchanged.halo));
  return text;
}

}  // namespace

std::optional<std::string> first_uncalibrated(const SessionOptions& options) {
  const std::string work = work_of(options.problems.front());
  for (std::size_t i = 0; i < options.devices.size(); ++i) {
    const Device& device = options.devices[i];
    const auto& known = options.calibration.devices;
    const bool has_capability = i < known.size() && known[i];
    if (!has_capability || rate_of(options, work, device) == nullptr) return device.id;
  }
  return std::nullopt;
}

PlannedCase plan_case(const PlanRequest& request, const ItemUnit& unit) {
  PlannedCase planned{request.mode, choose_plan(request), {}, unit, {}, {}};
  planned.bottleneck.name = "unknown";
  planned.by_rule = rule_of_thumb(request, unit.count > 0 ? unit.count : request.items);
  if (request.devices.size() > kMostSimulated) {
    planned.shares = begin_chosen(planned.choice, request, {})->first_shares();
    return planned;
  }
  const SimulatedChoice made = simulate_choice(planned.choice, request);
  for (const SimulatedDevice& device : made.sample.devices) planned.shares.push_back(device.items);
  if (made.log.empty()) return planned;  // a chain of stages
  const Timeline timeline = timeline_of(made.sample, made.log, request.exchange.links);
  planned.bottleneck =
      find_bottleneck(timeline, {request.items, request.granularity, times_alone(request)});
  return planned;
}

PlannedCase plan_scenario(const Scenario& scenario, Mode mode) {
  const SetEstimates given = estimates_of(scenario, mode).given;
  return plan_case(request_of(scenario.work, mode, given), scenario.work.unit);
}

std::vector<PlannedCase> plan_problem(Backend& backend, const SessionOptions& options) {
  Problem problem = options.problems.front();
  const std::string work = work_of(problem);
  const auto handicap = [&](std::size_t i) {
    return i < options.handicaps.size() ? options.handicaps[i] : Handicap{};
  };
  if (const auto missing = first_uncalibrated(options))
    throw Error(ErrorKind::usage,
                "plan: " + work_in_words(problem) + " has not been measured on device " + *missing);
  std::vector<Device> devices;
  std::vector<std::unique_ptr<OpenDevice>> open;
  for (std::size_t i = 0; i < options.devices.size(); ++i) {
    devices.push_back(limited(options.devices[i], handicap(i)));
    open.push_back(backend.open(options.devices[i], handicap(i)));
  }
  problem.params.memory = memory_of(devices);
  const std::unique_ptr<Workload> workload = make_workload(problem, devices);
  std::vector<PlannedCase> planned;
  if (SizedByDevices* const sized = workload->sized_by_devices())
    sized->set_device_count(open.size());
  const auto& link = options.calibration.link;
  for (const Mode mode : options.modes) {
    std::vector<KnownDevice> known;
    for (std::size_t i = 0; i < open.size(); ++i) {
      KnownDevice& device = known.emplace_back();
      device.facts = &options.devices[i];
      if (handicap(i).slows_always()) device.slow = handicap(i).slow;
      device.delay = handicap(i).delay;
      device.capability = &*options.calibration.devices[i];
      device.rate = rate_of(options, work, *device.facts);
      device.capacity = workload->capacity(open[i]->resources().traits(), mode);
      device.free_memory = open[i]->free_memory();
    }
    Predictor predictor(*workload, mode, std::move(known), open.size(), link ? &*link : nullptr,
                        nullptr);
    predictor.time_merge(backend);
    const PeerLinks& links = options.calibration.peers;
    PeerExchange* const exchange = workload->exchange();
    const Exchanged exchanged = exchange != nullptr ? exchange->exchanged(mode) : Exchanged{};
    const std::vector<PeerPath> paths = paths_of(links);
    const auto is_asked = [&](PeerPath path) { return !options.peer || path == *options.peer; };
    // Iterative work has no choice but to exchange.
    const bool exchanges = exchanged.rounds > 0
                               ? std::all_of(paths.begin(), paths.end(), is_asked)
                               : exchanged.any() && is_worth_exchanging(paths, options.peer);
    const auto estimate_with = [&](const Exchanged& what) {
      if (exchanges)
        predictor.set_exchange(
            exchange_estimate(what, links,
                              std::any_of(options.handicaps.begin(), options.handicaps.end(),
                                          [](const Handicap& h) { return h.stalls(); })));
      return predictor.estimate_from_calibration();
    };
    SetEstimates estimates = estimate_with(exchanged);
    for (std::size_t i = 0; i < open.size() && options.objective != Objective::time; ++i) {
      const SuiteRate& rate = *rate_of(options, work, options.devices[i]);
      if (rate.busy_w <= 0)
        throw Error(
            ErrorKind::usage,
            fmt::format("plan: --objective: the power of {} has not been measured on device "
                        "{}; run first: mgpu-bench calibrate {} --energy",
                        work_in_words(problem), options.devices[i].id, problem.suite->name));
      estimates.devices[i].idle_w = rate.idle_w;
      estimates.devices[i].busy_w = rate.busy_w;
    }
    predictor.set_objective(options.objective);
    planned.push_back(plan_case(predictor.request(estimates), workload->shape().unit));
    const std::vector<ExchangeChoice> choices =
        exchanges ? exchange->choices() : std::vector<ExchangeChoice>{};
    std::vector<PlannedExchange> compared;
    for (const ExchangeChoice& choice : choices) {
      const SetEstimates estimated = estimate_with(choice.exchanged);
      compared.push_back({choice, choose_plan(predictor.request(estimated)).chosen.predicted});
    }
    if (!compared.empty()) planned.back().choice.reasons.push_back(comparison(std::move(compared)));
  }
  return planned;
}

}  // namespace mgpu
