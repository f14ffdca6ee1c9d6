// The -D options of kernels/msm_*.cl: the constants of a curve in 32-bit words, and how a device
// wants its loops.
#pragma once

#include <string>

#include "lib/workload/stream.hpp"
#include "suites/msm/curve.hpp"

namespace mgpu::msm {

// Of the files that include msm_field.cl. `ptx`: NVIDIA's carry chains.
std::string field_options(Curve curve, bool cpu, bool ptx);
// Of msm_sort.cl. `fold`: see windows_of.
std::string scalar_options(Curve curve, bool fold, bool cpu);

}  // namespace mgpu::msm
