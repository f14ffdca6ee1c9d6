// Analysis of a sample: the commands on one timeline, the parts of each device, the metrics and the
// bottleneck. The sample is one of `dynamic` with 16 chunks per device, end to end, with three
// commands per slice, as the executor takes it on the fake backend.
#include <benchmark/benchmark.h>

#include <vector>

#include "lib/exec/executor.hpp"
#include "lib/plan/strategy.hpp"
#include "lib/profile/bottleneck.hpp"
#include "lib/profile/metrics.hpp"
#include "tests/support/scenario_run.hpp"

using namespace mgpu;

namespace {

RawSample sample_of(std::size_t devices) {
  Scenario scenario;
  scenario.work.items = Items{1} << 26;
  scenario.work.cost = {32, 4, 1, 0};
  scenario.devices.resize(devices);
  for (ScenarioDevice& device : scenario.devices) {
    device.estimate.items_per_s = 8e9;
    device.estimate.launch = device.estimate.transfer = std::chrono::microseconds(5);
    device.estimate.fixed = std::chrono::microseconds(40);
    device.estimate.up = device.estimate.down = 5e10;
  }
  const auto backend = make_scenario_backend(scenario);
  const auto workload = make_scenario_workload(scenario, *backend);
  std::vector<std::unique_ptr<OpenDevice>> open;
  std::vector<std::unique_ptr<DeviceProgram>> programs;
  std::vector<DeviceEstimate> estimates;
  SampleRequest request;
  for (const Device& facts : devices_of(scenario)) {
    open.push_back(backend->open(facts));
    const Capacity capacity =
        workload->capacity(open.back()->resources().traits(), Mode::end_to_end);
    programs.push_back(workload->program(open.back()->resources(), Mode::end_to_end, capacity));
    estimates.push_back(scenario.devices[open.size() - 1].estimate);
    estimates.back().fits = estimates.back().pipeline = capacity.fits;
    request.participants.push_back({open.back().get(), programs.back().get()});
  }
  const Shape& shape = workload->shape();
  const PlanRequest plan{shape.items, shape.granularity, Mode::end_to_end, shape.cost, estimates};
  const StrategyChoice choice = parse_strategies("dynamic:chunks=16").front();
  const auto source = choice.info->make(choice.params)->begin(plan, {});
  request.workload = workload.get();
  request.source = source.get();
  return Executor(*backend, devices).run(request);
}

void BM_timeline(benchmark::State& state) {
  const auto devices = static_cast<std::size_t>(state.range(0));
  const RawSample sample = sample_of(devices);
  const std::vector<ClockMap> clocks(devices, ClockMap{"bounds", 0, Nanos{}, 120.0, Nanos{12'000}});
  std::size_t commands = 0;
  for (auto _ : state) {
    const Timeline timeline = to_timeline(sample, clocks);
    commands = timeline.commands.size();
    benchmark::DoNotOptimize(commands);
  }
  state.counters["commands"] = static_cast<double>(commands);
}

void BM_metrics(benchmark::State& state) {
  const auto devices = static_cast<std::size_t>(state.range(0));
  const Timeline timeline = to_timeline(sample_of(devices), std::vector<ClockMap>(devices));
  MetricsInput input;
  input.time = timeline.makespan;
  input.alone.assign(devices, timeline.makespan * static_cast<std::int64_t>(devices));
  for (auto _ : state)
    benchmark::DoNotOptimize(compute_metrics(timeline, device_parts(timeline), input));
}

void BM_bottleneck(benchmark::State& state) {
  const auto devices = static_cast<std::size_t>(state.range(0));
  const Timeline timeline = to_timeline(sample_of(devices), std::vector<ClockMap>(devices));
  for (auto _ : state) benchmark::DoNotOptimize(find_bottleneck(timeline));
}

BENCHMARK(BM_timeline)->Arg(8)->Arg(128)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_metrics)->Arg(8)->Arg(128)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_bottleneck)->Arg(8)->Arg(128)->Unit(benchmark::kMicrosecond);

}  // namespace
