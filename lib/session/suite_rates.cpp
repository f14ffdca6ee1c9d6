// See the header.
#include "lib/session/suite_rates.hpp"

#include <algorithm>
#include <thread>

#include "lib/session/group.hpp"
#include "lib/session/probe.hpp"
#include "lib/session/tune.hpp"

namespace mgpu {

std::string work_of(const Problem& problem) {
  std::string work = problem.suite->name;
  for (const SuiteOption& option : problem.suite->options) {
    const auto given = problem.params.options.find(option.name);
    if (option.kind == SuiteOption::Kind::name && given != problem.params.options.end())
      work += ' ' + option.name + '=' + given->second;
  }
  return work;
}

Problem usual_problem(const Problem& like, bool cpu) {
  const SuiteInfo& suite = *like.suite;
  return problem_of_size(like, cpu ? suite.quick_size : suite.full_size > 0 ? suite.full_size : suite.default_size);
}

Problem problem_of_size(const Problem& like, std::uint64_t size) {
  const SuiteInfo& suite = *like.suite;
  Problem problem{&suite, {}};
  problem.params.size = size;
  problem.params.host_threads = std::max(1u, std::thread::hardware_concurrency());
  for (const SuiteOption& option : suite.options) {
    const auto given = like.params.options.find(option.name);
    const bool kept = option.kind == SuiteOption::Kind::name && given != like.params.options.end();
    problem.params.options[option.name] = kept ? given->second : option.values.front();
  }
  if (suite.settle != nullptr) suite.settle(problem.params);
  return problem;
}

std::optional<SuiteRate> measure_suite_rate(Backend& backend, Executor& executor, Workload& workload, OpenDevice& device,
                                            std::optional<Nanos> timeout, const std::function<void(DeviceProgram&)>& look) {
  const Capacity capacity = workload.capacity(device.resources().traits(), Mode::resident);
  if (capacity.fits < workload.shape().items) return std::nullopt;
  const auto program = workload.program(device.resources(), DeviceIndex{0}, Mode::resident, capacity);
  program->load(device.stream());
  settle(backend, device, device.submit(), timeout);
  const Member member{&device, program.get()};
  const ProbeSize all{1, capacity.fits, {}};
  run_probe(backend, executor, workload, {&member, 1}, {0.05, capacity.fits, {}}, timeout);  // warms up
  const Probe probe = run_probe(backend, executor, workload, {&member, 1}, all, timeout);
  if (probe.devices.empty()) return std::nullopt;
  if (look) look(*program);
  const DeviceEstimate estimate = estimate_of(probe, 0, workload.shape().cost, Mode::resident, false, 0);
  if (!(estimate.items_per_s > 0)) return std::nullopt;
  const Nanos whole = probe.devices.front().kernels.at_large;
  if (device.resources().traits().cpu && workload.shape().parts_cost_less && whole > Nanos{}) {
    // A line through a part and the whole is steeper than the whole: msm of 2^12 terms was predicted to take half as long again.
    return SuiteRate{workload.shape().cost.ops * static_cast<double>(probe.items) / seconds(whole), estimate.launch,
                     estimate.fixed};
  }
  return SuiteRate{workload.shape().cost.ops * estimate.items_per_s, estimate.launch, estimate.fixed};
}

namespace {

// Of the devices that have none, on one usual problem each.
void measure_rates(Backend& backend, Executor& executor, const Problem& problem, const std::map<std::string, std::string>& ways,
                   std::span<SessionDevice> devices, bool cpus, std::optional<Nanos> timeout, SuiteRates& rates) {
  const std::string work = work_of(problem);
  const auto missing = [&](const SessionDevice& device) {
    return !device.lost && device.facts.is_cpu() == cpus && !rates.contains({work, device.facts.id});
  };
  if (std::none_of(devices.begin(), devices.end(), missing)) return;
  try {
    const std::unique_ptr<Workload> workload = problem.suite->make(usual_problem(problem, cpus).params);
    for (SessionDevice& device : devices) {
      if (!missing(device)) continue;
      std::vector<std::string> told;  // the session has said it already
      take_ways(*workload, ways, device.open->resources().traits(), told);
      auto rate = measure_suite_rate(backend, executor, *workload, *device.open, timeout);
      if (!rate) continue;
      if (device.handicap.slows_always()) rate->ops_per_s *= device.handicap.slow;  // rates are those of devices as they are
      rates[{work, device.facts.id}] = *rate;
    }
  } catch (const Error&) {
    // Not at this size, or a device fails: predictions do without, and the cases will say what is wrong.
  }
}

}  // namespace

void measure_missing_rates(Backend& backend, Executor& executor, const Problem& problem, const Shape& shape,
                           const std::map<std::string, std::string>& ways, std::span<SessionDevice> devices,
                           std::optional<Nanos> timeout, SuiteRates& rates) {
  measure_rates(backend, executor, problem, ways, devices, false, timeout, rates);
  if (needs_full_rate(shape, {})) measure_rates(backend, executor, problem, ways, devices, true, timeout, rates);
}

void forget_cpus(std::span<const SessionDevice> devices, SuiteRates& rates) {
  for (const SessionDevice& device : devices) {
    if (device.facts.is_cpu()) std::erase_if(rates, [&](const auto& rate) { return rate.first.second == device.facts.id; });
  }
}

}  // namespace mgpu
