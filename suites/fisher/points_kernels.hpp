// The kernel that computes the matrices of many points on a device, and how points fall into items.
// Pure, but for making the kernel.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "suites/fisher/problem.hpp"

namespace mgpu::fisher {

// An item is so many consecutive points: a power of two, so that no kernel's group of points is
// cut.
std::uint64_t points_of_item(const Problem& problem);
Items items_of(const Problem& problem);

// Units of kernels/fisher_models.cl: one or two 8 x 8 tiles with a block of 8 in common. Depends on
// the dimension alone.
std::vector<std::uint32_t> units_of(std::uint64_t dim);
// The same tiles one by one, each with the block it had in common first: the kernel's roundings
// depend on which that is.
std::vector<std::uint32_t> single_units_of(std::uint64_t dim);

struct PointsVariant {
  std::string file, entry, options;
  unsigned points = 1;   // that a work-group, or where it has one work-item that one, takes
  unsigned threads = 1;  // a work-group's
  std::vector<std::uint32_t> units;
  bool to_be_tried =
      false;  // must show first that it builds, and that it computes what the plain one does
};
// Those that may be asked of a device, best first; the last is plain OpenCL C.
std::vector<PointsVariant> points_variants(const DeviceTraits& device, const Problem& problem);

struct PointsKernel {
  PointsVariant variant;
  std::unique_ptr<Kernel> kernel;
};
// The first of the variants that works on this device.
PointsKernel make_points_kernel(DeviceResources& device, const Problem& problem);

// What a program allocates, in bytes; input and output are two each end to end.
struct PointsLayout {
  Bytes input = 0, output = 0, units = 0;
  unsigned buffers = 1;
  Bytes total() const { return buffers * (input + output) + units; }
};
PointsLayout points_layout(const Problem& problem, Mode mode, Items fits);

// Capacity as Workload::capacity defines it.
Capacity points_capacity(const DeviceTraits& device, const Problem& problem, Mode mode);

}  // namespace mgpu::fisher
