// The -D options of kernels/msm_*.cl: the constants of a curve in 32-bit words, and whether a
// device needs rolled loops.
#pragma once

#include <string>

#include "lib/workload/stream.hpp"
#include "suites/msm/curve.hpp"

namespace mgpu::msm {

// Returns the options of files that include msm_field.cl. `ptx`: use NVIDIA's carry chains.
std::string field_options(Curve curve, bool cpu, bool ptx);
// Returns the options of msm_sort.cl. `fold`: see windows_of.
std::string scalar_options(Curve curve, bool fold, bool cpu);

}  // namespace mgpu::msm
