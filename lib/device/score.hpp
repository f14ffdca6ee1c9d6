// The static performance score of a device: a rank of kinds before anything was measured. Pure.
#pragma once

#include "lib/device/device.hpp"

namespace mgpu {

// 0-100: 0.4 * type + 0.2 * backend + 0.2 * memory + 0.2 * compute, where
//   type     discrete GPU 100, integrated GPU 50, accelerator or virtual device 30, CPU 10
//   backend  a vendor's own OpenCL (NVIDIA, AMD, Intel) 100, portable ones (PoCL, rusticl, clvk,
//   Oclgrind) 50 memory   10 per GiB, at most 100 compute  lanes / 20, at most 100; lanes = compute
//   units x lanes of one unit (NVIDIA 128, but 64 before compute
//            capability 8.6 except 6.1; AMD 64; otherwise the native float width)
double static_score(const Device& device);

}  // namespace mgpu
