// The device memory a product takes in a mode, and how much of it a device can be given at once.
// Pure.
#pragma once

#include "suites/common/product_sizes.hpp"

namespace mgpu::product {

// What a program allocates, each in bytes. Of what a slice brings along itself there are two, one a
// slot.
struct Layout {
  // End to end by rows (cols): A (B) and C come and go with the slices. By tiles both do, where A,
  // B and C do not fit whole: as waves.
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

// Capacity as Workload::capacity defines it, with the first of `candidates` whose buffers fit;
// there is at least one.
Capacity capacity(const DeviceTraits& device, const ProductSizes& sizes, const Geometry& geometry,
                  Mode mode, const std::vector<TileKernel>& candidates);

}  // namespace mgpu::product
