// Which kernel computes a problem on a device: file, definitions and tile, from best to most
// portable. The choice is made by trial, in suites/matrix/trial.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "suites/common/product_kernels.hpp"
#include "suites/matrix/problem.hpp"

namespace mgpu::matrix {

// Those that may be asked of a device, best first; the last is plain OpenCL C, where the precision
// has that. With a --kernel named, only that. `preferred`, a name, comes first if it is among them.
// Empty: the device cannot.
std::vector<Variant> variants(const DeviceTraits& device, const Problem& problem,
                              const Geometry& geometry, const std::string& preferred = {});

// Whether a device has a variant of this name for this precision, in whatever size and axis.
bool is_a_variant(const DeviceTraits& device, Precision precision, const std::string& name);

// The first of `candidates` that works on this device. Throws Error(unsupported) when none does,
// Error(device).
Kernels choose_kernels(DeviceResources& device, const std::vector<Variant>& candidates,
                       Precision precision);

}  // namespace mgpu::matrix
