// How a device computes a problem: which kernels, how many series at once, and how much device
// memory that takes. Pure functions.
#pragma once

#include <string>

#include "suites/pac/shifts.hpp"

namespace mgpu::pac {

// Returns the methods that can compute the problem on this device, the default first.
std::vector<Method> methods(const DeviceTraits& device, const Problem& problem);

// Geometry of the filter: the work-group size, and whether its arrays are in local memory or in
// global memory, where there are `groups` of them.
struct FilterShape {
  std::size_t local = 1;
  bool in_local = true;
  std::size_t groups = 0;
};
FilterShape filter_shape(const DeviceTraits& device, const Problem& problem);

// Geometry of transforms of samples / modulus numbers: work-items per transform, and transforms per
// work-group.
struct TransformShape {
  unsigned log2_length = 0;
  std::size_t items = 1, pairs = 1;
  std::size_t group() const { return items * pairs; }
  std::size_t padded() const { return items * 17; }
  std::size_t local_roots = 0;
  Bytes local_memory() const;
};
TransformShape transform_shape(const Problem& problem, Method method, std::uint32_t modulus);

// Sizes in bytes of a program's buffers.
struct Layout {
  Method method = Method::direct;
  std::uint64_t chunk = 1;       // series at once
  unsigned slots = 1;            // copies of input and moments
  Bytes input = 0, moments = 0;  // size of one copy
  Bytes spectra = 0, bins = 0, counts = 0, weights = 0, sizes = 0, totals = 0,
        scratch = 0;     // filter only
  Bytes order = 0;       // direct method only
  Bytes transforms = 0;  // transform methods only
  Bytes tables = 0;
  Bytes total() const;
  Bytes largest() const;
};
Layout layout(const DeviceTraits& device, const Problem& problem, Method method, Mode mode,
              Items fits);

Capacity capacity(const DeviceTraits& device, const Problem& problem, Method method, Mode mode);

}  // namespace mgpu::pac
