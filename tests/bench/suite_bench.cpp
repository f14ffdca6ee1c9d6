// The suites as cases of Google Benchmark, on the devices of the default selection, so that its
// flags and tools work on them: suite/SUITE/STRATEGY/SIZE/MODE, as in
// --benchmark_filter='suite/merkle/(equal|dynamic)/.*/resident'. Times are those of samples (manual
// time); items are what the suite's rate counts (nodes, FLOP, terms), bytes are its inputs and its
// result. Every case's result is verified. This file also has the program's main, which returns 2
// if no case matched, 5 if one failed, else 0.
#include <benchmark/benchmark.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <set>

#include "suites/suites.hpp"
#include "tests/bench/failure.hpp"
#include "tests/bench/rounds_bench.hpp"
#include "tests/bench/suite_setup.hpp"

namespace {

using namespace mgpu;
using namespace mgpu::bench;

struct SuiteCase {
  const SuiteInfo* suite;
  StrategyChoice strategy;
  std::uint64_t size;
  Mode mode;
};

// Returns the setup of a case. Cases of one problem follow one another, so it is kept until another
// problem is needed.
SuiteSetup& setup_of(Machine& machine, const SuiteCase& wanted) {
  static std::unique_ptr<SuiteSetup> current;
  static std::string current_name;
  const std::string name =
      wanted.suite->name + '/' + std::to_string(wanted.size) + '/' + to_string(wanted.mode);
  if (!current || name != current_name) {
    current.reset();  // first: both may not fit in memory
    current = std::make_unique<SuiteSetup>(machine, *wanted.suite, wanted.size, wanted.mode);
    current_name = name;
  }
  return *current;
}

void run_case(benchmark::State& state, Machine& machine, const SuiteCase& wanted) {
  try {
    SuiteSetup& setup = setup_of(machine, wanted);
    setup.begin(wanted.strategy);
    setup.sample();
    for (auto _ : state) state.SetIterationTime(seconds(setup.sample()));
    setup.verify();
    const Shape& shape = setup.shape();
    const auto iterations = static_cast<double>(state.iterations());
    state.SetItemsProcessed(static_cast<std::int64_t>(shape.ops * iterations));
    state.SetBytesProcessed(static_cast<std::int64_t>(
        static_cast<double>(shape.bytes_in + shape.bytes_out) * iterations));
    state.SetLabel(machine.words());
  } catch (const std::exception& error) {
    fail(state, error.what());
  }
}

// Returns the sizes to run: those that fill GPUs take CPUs minutes.
std::set<std::uint64_t> sizes_of(const SuiteInfo& suite, bool only_gpus) {
  return only_gpus ? std::set{suite.quick_size, suite.default_size} : std::set{suite.quick_size};
}

void register_suites(Machine& machine) {
  for (const SuiteInfo& suite : all_suites()) {
    for (const Mode& mode : suite.modes) {
      for (const std::uint64_t size : sizes_of(suite, machine.only_gpus())) {
        for (const StrategyChoice& strategy : parse_strategies("all")) {
          const SuiteCase one{&suite, strategy, size, mode};
          const std::string name = "suite/" + suite.name + '/' + strategy.info->name + '/' +
                                   std::to_string(size) + '/' + to_string(mode);
          benchmark::RegisterBenchmark(
              name.c_str(),
              [&machine, one](benchmark::State& state) { run_case(state, machine, one); })
              ->UseManualTime()
              ->Unit(benchmark::kMillisecond);
        }
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  cpu_set_t allowed;
  const long cores = sysconf(_SC_NPROCESSORS_CONF);
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) == cores)
    setenv("POCL_AFFINITY", "1",
           0);  // like mgpu-bench; otherwise its threads share a core now and then
  constexpr int kNothingMatched = 2, kCaseFailed = 5;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return kNothingMatched;
  std::unique_ptr<Machine> machine;
  try {
    machine = std::make_unique<Machine>();
    register_suites(*machine);
    register_rounds(*machine);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "no cases suite/... and rounds/...: %s\n", error.what());
  }
  const std::size_t matched = benchmark::RunSpecifiedBenchmarks();
  std::cout << std::flush;
  const int code = matched == 0 ? kNothingMatched : failures > 0 ? kCaseFailed : 0;
  std::_Exit(code);  // skips exit handlers of drivers, which wait
}
