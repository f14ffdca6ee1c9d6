// Time of a prediction. Targets: 8 devices x 16 slices under 100 us, 1,024 devices x 16 chunks
// under 50 ms.
#include <benchmark/benchmark.h>

#include <vector>

#include "lib/plan/simulator.hpp"
#include "lib/plan/strategy.hpp"

using namespace mgpu;

namespace {

// Simulates `kinds` kinds of devices and links, each slower than the one before.
void simulate_set(benchmark::State& state, const char* strategy, Mode mode, std::size_t kinds) {
  const auto devices = static_cast<std::size_t>(state.range(0));
  std::vector<DeviceEstimate> estimates(devices);
  PlanRequest request;
  request.items = Items{1} << 26;
  request.mode = mode;
  request.cost = {32, 4, 1, 0};
  request.link_up = request.link_down = 5e10 * static_cast<double>(devices) / 2;
  for (std::size_t i = 0; i < devices; ++i) {
    const double slower = 1 + static_cast<double>(i % kinds) / static_cast<double>(kinds);
    estimates[i].items_per_s = 8e9 / slower;
    estimates[i].score = 100 / slower;
    estimates[i].launch = estimates[i].transfer = std::chrono::microseconds(5);
    estimates[i].fixed = std::chrono::microseconds(40);
    estimates[i].up = estimates[i].down = 5e10 / slower;
    estimates[i].fits = request.items;
    estimates[i].pipeline = request.items / (16 * devices);
  }
  request.devices = estimates;
  const StrategyChoice choice = parse_strategies(strategy).front();
  const auto maker = choice.info->make(choice.params);
  std::size_t slices = 0;
  for (auto _ : state) {
    Simulation simulated = simulate(request, *maker->begin(request, {}));
    benchmark::DoNotOptimize(simulated.makespan);
    slices = 0;
    for (const SimulatedDevice& device : simulated.devices) slices += device.slices;
  }
  state.counters["slices"] = static_cast<double>(slices);
}

void BM_simulate_equal_resident(benchmark::State& s) {
  simulate_set(s, "equal", Mode::resident, 1);
}
void BM_simulate_equal_on_two_kinds(benchmark::State& s) {
  simulate_set(s, "equal", Mode::end_to_end, 2);
}
void BM_simulate_proportional_on_many_kinds(benchmark::State& s) {
  simulate_set(s, "proportional", Mode::end_to_end, 1024);
}
void BM_simulate_dynamic_resident(benchmark::State& s) {
  simulate_set(s, "dynamic:chunks=16", Mode::resident, 2);
}
void BM_simulate_dynamic_end_to_end(benchmark::State& s) {
  simulate_set(s, "dynamic:chunks=16", Mode::end_to_end, 2);
}

BENCHMARK(BM_simulate_equal_resident)->Arg(8)->Arg(1024)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_simulate_equal_on_two_kinds)->Arg(8)->Arg(1024)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_simulate_proportional_on_many_kinds)->Arg(8)->Arg(1024)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_simulate_dynamic_resident)->Arg(8)->Arg(1024)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_simulate_dynamic_end_to_end)->Arg(8)->Arg(1024)->Unit(benchmark::kMicrosecond);

}  // namespace
