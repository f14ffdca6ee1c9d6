// The kernels that can compute a problem on a device: file, definitions and tile, from fastest to
// most portable. suites/matrix/trial.cpp chooses among them by trying them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "suites/common/product_kernels.hpp"
#include "suites/matrix/problem.hpp"

namespace mgpu::matrix {

// Returns the variants that a device may use, best first, restricted to --kernel. The last one is
// plain OpenCL C if the precision has such a kernel. The variant called `preferred` comes first if
// it is among them. Empty if the device cannot compute the problem.
std::vector<Variant> variants(const DeviceTraits& device, const Problem& problem,
                              const Geometry& geometry, const std::string& preferred = {});

// Returns whether a device has a variant of this name for this precision, at any size and axis.
bool is_a_variant(const DeviceTraits& device, Precision precision, const std::string& name);

// Returns the first of `candidates` that works on this device. Throws Error(unsupported) if none
// does, Error(device).
Kernels choose_kernels(DeviceResources& device, const std::vector<Variant>& candidates,
                       Precision precision);

}  // namespace mgpu::matrix
