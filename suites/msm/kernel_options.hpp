// The -D options of kernels/msm_*.cl: the constants of a curve in 32-bit words, and how a device wants its loops.
#pragma once

#include <string>

#include "lib/workload/stream.hpp"
#include "suites/msm/curve.hpp"

namespace mgpu::msm {

// `fold`: see windows_of. `ptx`: NVIDIA's carry chains.
std::string kernel_options(Curve curve, bool fold, bool cpu, bool ptx);

}  // namespace mgpu::msm
