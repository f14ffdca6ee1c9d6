// The kernel that computes the matrices of many points on a device, and the division of points into
// items. Pure, except for making the kernel.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "suites/fisher/problem.hpp"

namespace mgpu::fisher {

// Returns the number of consecutive points per item: a power of two, so that no kernel's group of
// points is split.
std::uint64_t points_of_item(const Problem& problem);
Items items_of(const Problem& problem);

// Returns the units of kernels/fisher_models.cl: one or two 8 x 8 tiles with a common block of 8.
// They depend on the dimension alone.
std::vector<std::uint32_t> units_of(std::uint64_t dim);
// Returns the same tiles one by one, each with the common block first, because the kernel's
// roundings depend on which block is first.
std::vector<std::uint32_t> single_units_of(std::uint64_t dim);

struct PointsVariant {
  std::string file, entry, options;
  unsigned points = 1;   // per work-group, or per work-item if a group has only one
  unsigned threads = 1;  // per work-group
  std::vector<std::uint32_t> units;
  // Must first be shown to build and to compute what the plain variant computes.
  bool to_be_tried = false;
};
// Returns the variants that a device may use, best first; the last is plain OpenCL C.
std::vector<PointsVariant> points_variants(const DeviceTraits& device, const Problem& problem);

struct PointsKernel {
  PointsVariant variant;
  std::unique_ptr<Kernel> kernel;
};
// Makes the first of the variants that works on this device.
PointsKernel make_points_kernel(DeviceResources& device, const Problem& problem);

// Sizes of a program's buffers in bytes. End to end there are two input and two output buffers.
struct PointsLayout {
  Bytes input = 0, output = 0, units = 0;
  unsigned buffers = 1;
  Bytes total() const { return buffers * (input + output) + units; }
};
PointsLayout points_layout(const Problem& problem, Mode mode, Items fits);

// Returns the capacity as Workload::capacity defines it.
Capacity points_capacity(const DeviceTraits& device, const Problem& problem, Mode mode);

}  // namespace mgpu::fisher
