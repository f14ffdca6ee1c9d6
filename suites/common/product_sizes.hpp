// Sizes of a product and of its host memory, shared by all suites of products. Pure.
#pragma once

#include "lib/plan/slice_source.hpp"
#include "lib/workload/workload.hpp"
#include "suites/common/tiles.hpp"

namespace mgpu::product {

struct ProductSizes {
  std::uint64_t rows = 0, columns = 0, inner = 0;
  Bytes element = 4;
  Axis axis = Axis::rows;
  bool reads_c = false;        // a C on the right-hand side is read
  bool reads_operands = true;  // false: neither A nor B is read
  Bytes path_element = 0;  // element size of a second result of the shape of C; 0: there is none

  std::uint64_t summed() const { return reads_operands ? inner : 0; }
  Bytes a_bytes() const { return rows * inner * element; }
  Bytes b_bytes() const { return inner * columns * element; }
  Bytes c_bytes() const { return rows * columns * element; }
  Bytes c_in_bytes() const { return reads_c ? c_bytes() : 0; }
  Bytes path_bytes() const { return rows * columns * path_element; }
  Bytes host_bytes() const;  // size of a ProductMemory
};

// Returns the shape of a product with `ops_each` operations for each of the rows x columns x inner
// pairs.
Shape shape_of(const ProductSizes& sizes, double ops_each, const char* rate_unit);

// A kernel's tile, and the panels that its operands are packed into.
struct TileKernel {
  // Size of a tile; tiles divide the items of the geometry they were chosen for.
  unsigned tile_rows = 0, tile_columns = 0;
  unsigned threads = 1;  // per work-group
  // Panels of A and B, which are packed before the product; 0: not packed.
  unsigned panel_rows = 0, panel_columns = 0;
  unsigned panel_inner = 1;  // packed k are padded to a multiple of it
  // Whether pack_rows packs a block of k per work-group, not a panel per work-item.
  bool packs_in_blocks = false;

  std::uint64_t packed_inner(std::uint64_t inner) const { return round_up(inner, panel_inner); }
};

}  // namespace mgpu::product
