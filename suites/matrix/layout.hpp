// The device memory of a product (suites/common/product_layout.hpp), or why the device cannot
// compute it.
#pragma once

#include "suites/common/group_limits.hpp"
#include "suites/common/product_layout.hpp"
#include "suites/matrix/kernels.hpp"
#include "suites/matrix/problem.hpp"

namespace mgpu::matrix {

inline Layout layout(const Problem& problem, const Geometry& geometry, const Variant& variant,
                     Mode mode, Items fits) {
  return product::layout(problem.sizes(), geometry, variant, mode, fits);
}

// Returns the capacity as Workload::capacity defines it, with the first of `candidates` whose
// buffers fit.
inline Capacity capacity(const DeviceTraits& device, const Problem& problem,
                         const Geometry& geometry, Mode mode,
                         const std::vector<Variant>& candidates) {
  if (!candidates.empty())
    return product::capacity(device, problem.sizes(), geometry, mode,
                             {candidates.begin(), candidates.end()});
  const std::vector<Variant> all = variants(without_limits(device), problem, geometry);
  Capacity none;
  none.reason =
      problem.precision == Precision::fp64 && !device.fp64 ? "it has no fp64"
      : !all.empty()                                       ? why_none_suits(device, all)
      : problem.precision == Precision::tf32x3
          ? "3xtf32 needs the tensor cores of an NVIDIA GPU (compute capability 8.0 and up)"
          : "it has no kernel of that name";
  return none;
}

}  // namespace mgpu::matrix
