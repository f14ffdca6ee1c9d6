// Rates devices by their properties, before any measurement. Pure. Vendors, platforms and
// generations are known by the names that drivers report.
#pragma once

#include "lib/device/device.hpp"

namespace mgpu {

// Returns the static performance score: a ranking by kind.

// The score is 0-100: 0.4 * type + 0.2 * backend + 0.2 * memory + 0.2 * compute, where
//   type     discrete GPU 100, integrated GPU 50, accelerator or virtual device 30, CPU 10
//   backend  a vendor's own OpenCL (NVIDIA, AMD, Intel, Apple, ARM, Qualcomm) 100,
//            portable ones (PoCL, rusticl, clvk, Oclgrind) 50
//   memory   10 per GiB, at most 100
//   compute  lanes / 20, at most 100; lanes = compute units x lanes of one unit
//   (lib/device/score.cpp
//            has them by vendor; a CPU's, and those of unknown GPUs, are its native float width)
double static_score(const Device& device);

// Returns the single-precision operations per second at the clock that the driver reports,
// multiply- adds counted as two; 0: the driver reports no clock.
double nominal_fp32(const Device& device);

// Tells whether `a` is listed before `b`: by score, and by nominal_fp32 if the scores are equal, as
// those of all large GPUs are.
bool ranks_before(const Device& a, const Device& b);

}  // namespace mgpu
