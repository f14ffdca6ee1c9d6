// Failure of a case: reports it and makes the program end with an exit code other than 0. Google
// Benchmark itself always ends with 0.
#pragma once

#include <benchmark/benchmark.h>

#include <atomic>
#include <string>

namespace mgpu::bench {

inline std::atomic<int> failures{0};

inline void fail(benchmark::State& state, const std::string& why) {
  ++failures;
  state.SkipWithError(why.c_str());
}

}  // namespace mgpu::bench
