// The sizes of a product and of what it takes in host memory: what suites of products have in
// common. Pure.
#pragma once

#include "lib/plan/slice_source.hpp"
#include "lib/workload/workload.hpp"
#include "suites/common/tiles.hpp"

namespace mgpu::product {

struct ProductSizes {
  std::uint64_t rows = 0, columns = 0, inner = 0;
  Bytes element = 4;
  Axis axis = Axis::rows;
  bool reads_c = false;        // a C on the right
  bool reads_operands = true;  // false: neither A nor B is read
  Bytes path_element = 0;      // of a second result, of the shape of C; 0: there is none

  std::uint64_t summed() const { return reads_operands ? inner : 0; }
  Bytes a_bytes() const { return rows * inner * element; }
  Bytes b_bytes() const { return inner * columns * element; }
  Bytes c_bytes() const { return rows * columns * element; }
  Bytes c_in_bytes() const { return reads_c ? c_bytes() : 0; }
  Bytes path_bytes() const { return rows * columns * path_element; }
  Bytes host_bytes() const;  // of a ProductMemory
};

// Of `ops_each` operations for each of the rows x columns x inner pairs.
Shape shape_of(const ProductSizes& sizes, double ops_each, const char* rate_unit);

// How a kernel goes about a product: its tile, and the panels that it wants operands packed in.
struct TileKernel {
  unsigned tile_rows = 0, tile_columns = 0;  // suit the items of the geometry it was made for
  unsigned threads = 1;                      // a work-group's
  unsigned panel_rows = 0,
           panel_columns = 0;  // of A and B, packed before they are computed with; 0: never
  unsigned panel_inner = 1;    // packed k are filled up to multiples of it
  bool packs_in_blocks =
      false;  // pack_rows takes blocks of k by work-groups, not panels by work-items

  std::uint64_t packed_inner(std::uint64_t inner) const { return round_up(inner, panel_inner); }
};

}  // namespace mgpu::product
