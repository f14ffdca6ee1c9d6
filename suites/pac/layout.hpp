// How a device computes a problem: by which kernels, how many series at once, and what that takes
// of its memory. Pure.
#pragma once

#include <string>

#include "suites/pac/shifts.hpp"

namespace mgpu::pac {

// Those that can do the problem on this device, the one taken by default first.
std::vector<Method> methods(const DeviceTraits& device, const Problem& problem);

// Of the filter: work-items of a work-group, and whether its arrays are in local memory, else
// `groups` of them in global memory.
struct FilterShape {
  std::size_t local = 1;
  bool in_local = true;
  std::size_t groups = 0;
};
FilterShape filter_shape(const DeviceTraits& device, const Problem& problem);

// Of transforms of samples / modulus numbers: work-items of one, and how many transforms a
// work-group does side by side.
struct TransformShape {
  unsigned log2_length = 0;
  std::size_t items = 1, pairs = 1;
  std::size_t group() const { return items * pairs; }
  std::size_t padded() const { return items * 17; }
  std::size_t local_roots = 0;
  Bytes local_memory() const;
};
TransformShape transform_shape(const Problem& problem, Method method, std::uint32_t modulus);

// What a program allocates, in bytes.
struct Layout {
  Method method = Method::direct;
  std::uint64_t chunk = 1;       // series at once
  unsigned slots = 1;            // of input and moments
  Bytes input = 0, moments = 0;  // each of them
  Bytes spectra = 0, bins = 0, counts = 0, weights = 0, sizes = 0, totals = 0,
        scratch = 0;     // of the filter
  Bytes order = 0;       // direct
  Bytes transforms = 0;  // transform
  Bytes tables = 0;
  Bytes total() const;
  Bytes largest() const;
};
Layout layout(const DeviceTraits& device, const Problem& problem, Method method, Mode mode,
              Items fits);

Capacity capacity(const DeviceTraits& device, const Problem& problem, Method method, Mode mode);

}  // namespace mgpu::pac
