// Measures the peak performance of devices: each alone, and all devices of a set moving data at
// once. It uses the interface of lib/exec/backend.hpp, so that it runs on the fake backend as on
// OpenCL. lib/report/calibration_store.hpp caches the figures.
#pragma once

#include <span>
#include <string_view>

#include "lib/device/capability.hpp"
#include "lib/exec/backend.hpp"

namespace mgpu {

// The file in kernels/ that the calibration runs. Figures of another version of it are not
// comparable.
inline constexpr std::string_view kCalibrationKernels = "calibrate.cl";
// Multiply-adds per loop and lane in the kernels fp32, fp64 and int32.
inline constexpr unsigned kCalibrationMultiplyAdds = 384;

// Measures one device. Blocks for about 0.2 s on an idle GPU and 1 s on a CPU, without the time to
// build kernels. Rates are the best of several tries: disturbances only make a device slower, and
// the ceiling is wanted. Launch times are medians: the best would be a lucky moment of polling, and
// plans need the usual. Where pinning does nothing (CPUs), pinned and pageable are one measurement.
// Throws Error(device), Error(out_of_memory), Error(timeout), Error(interrupted); see wait_for.
Capability measure_capability(Backend& backend, OpenDevice& device);

// A rate of Capability: fp32_flops, ..., pinned_down; pageable transfers are not measured alone.
using RateMember = double Capability::*;
// Measures only these rates, each for about `enough`; the others stay 0. Throws as above.
Capability measure_rates(Backend& backend, OpenDevice& device, std::span<const RateMember> rates,
                         Nanos enough);

// Measures how all devices together, and without CPUs also the first 2, 3, ..., copy pieces of 64
// MiB (32 MiB if one is a CPU) at the same time, one thread per device. First all upload, then all
// download; the best of several tries. Leaves `devices` of the result empty: ids are the caller's.
// Throws as above.
LinkCapability measure_link(Backend& backend, std::span<OpenDevice* const> devices);

}  // namespace mgpu
