// Iterations in which nothing is computed, as cases of Google Benchmark.
#pragma once

#include "tests/bench/suite_setup.hpp"

namespace mgpu::bench {

void register_rounds(Machine& machine);

}  // namespace mgpu::bench
