// The device memory that a product takes in a mode, and the largest slice a device can be given.
// Pure.
#pragma once

#include "suites/common/product_sizes.hpp"

namespace mgpu::product {

// Sizes of a program's buffers in bytes. Buffers whose content changes with the slice exist twice,
// one per slot.
struct Layout {
  // End to end by rows (cols), each slice uploads its part of A (B) and downloads its part of C. By
  // tiles, if A, B and C do not fit whole, slices are waves, which upload parts of both A and B.
  bool slot_rows = false, slot_columns = false;
  Bytes a = 0, b = 0, c = 0, c_in = 0, paths = 0;
  Bytes packed_a = 0, packed_b = 0;
  Bytes tiles = 0;
  bool waves() const { return slot_rows && slot_columns; }
  unsigned a_buffers() const { return slot_rows ? 2 : 1; }
  unsigned b_buffers() const { return slot_columns ? 2 : 1; }
  unsigned c_buffers() const { return slot_rows || slot_columns ? 2 : 1; }
  unsigned tile_buffers() const { return waves() ? 2 : 1; }
  Bytes largest() const;
  Bytes total() const;
  bool fits(const DeviceTraits& device) const;
};
Layout layout(const ProductSizes& sizes, const Geometry& geometry, const TileKernel& kernel,
              Mode mode, Items fits);

// Returns the capacity as Workload::capacity defines it, with the first of `candidates` whose
// buffers fit. There must be at least one candidate.
Capacity capacity(const DeviceTraits& device, const ProductSizes& sizes, const Geometry& geometry,
                  Mode mode, const std::vector<TileKernel>& candidates);

}  // namespace mgpu::product
