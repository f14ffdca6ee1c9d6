// Measures what devices can do at most: each alone, and all of a set moving data at once. Through
// the seam of lib/exec/backend.hpp, so that it runs on the fake backend as it does on OpenCL.
// Caching the figures is in lib/report/calibration_store.hpp.
#pragma once

#include <span>
#include <string_view>

#include "lib/device/capability.hpp"
#include "lib/exec/backend.hpp"

namespace mgpu {

// The file in kernels/ that it runs. Figures made by another text are not comparable.
inline constexpr std::string_view kCalibrationKernels = "calibrate.cl";
// Multiply-adds per loop of each lane in the kernels fp32, fp64 and int32.
inline constexpr unsigned kCalibrationMultiplyAdds = 384;

// About 0.2 s of an idle GPU, 1 s of a CPU, kernels not counted that have to be built first; blocks
// as long. Rates are the best of several tries: whatever disturbs a device only makes it slower,
// and a roof is asked for. Launch times are medians: the best is a lucky moment of polling, and
// plans need what is usual. Where pinning does nothing (CPUs), pinned and pageable are one
// measurement. Throws Error(device), Error(out_of_memory), Error(timeout), Error(interrupted); see
// wait_for.
Capability measure_capability(Backend& backend, OpenDevice& device);

// All of them, and without CPUs also fewer, copying pieces of 64 MiB (32 where one is a CPU) at the
// same time, a thread each: first everything up, then everything down; the best of several tries.
// `devices` of the result is left empty: ids are the caller's. Throws as above.
LinkCapability measure_link(Backend& backend, std::span<OpenDevice* const> devices);

}  // namespace mgpu
