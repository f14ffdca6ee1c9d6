// How the result C of a product, row-major, A rows x inner, B inner x columns, falls into items,
// and items into tiles of kernels. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/base/units.hpp"

namespace mgpu::product {

enum class Axis { rows, cols, tiles };

// Dimensions may be 0 and at most 2^21 (rows, columns) and 2^30 (inner), so that tiles are numbered
// in 16 bits and k in 32.
constexpr std::uint64_t most_rows = std::uint64_t{1} << 21, most_inner = std::uint64_t{1} << 30;

struct Rect {  // of C
  std::uint64_t row = 0, rows = 0, column = 0, columns = 0;
  bool operator==(const Rect&) const = default;
};

// Items of C. rows: `edge` whole rows each; cols: `edge` whole columns; tiles: edge x edge,
// numbered along a Z-curve (Morton, 1966), so that a range of them is compact. Depends on the
// problem alone, never on a device. An empty C is one empty item.
class Geometry {
 public:
  static Geometry of(std::uint64_t rows, std::uint64_t columns, Axis axis);
  static Geometry of_rows(std::uint64_t rows, std::uint64_t columns,
                          std::uint64_t edge);  // by rows, that many an item

  Axis axis() const { return axis_; }
  Items items() const { return items_; }
  std::uint64_t edge() const { return edge_; }
  std::uint64_t rows() const { return rows_; }  // of C
  std::uint64_t columns() const { return columns_; }
  std::uint64_t grid_rows() const { return grid_rows_; }  // tiles: items along each side
  std::uint64_t grid_columns() const { return grid_columns_; }
  Rect rect(Items item) const;
  // Items [begin, end) as few rectangles: one, but for tiles, where they are the blocks of the
  // Z-curve that fit.
  std::vector<Rect> cover(Items begin, Items end) const;

 private:
  void cover_block(std::uint64_t row, std::uint64_t column, std::uint64_t size, Items& rank,
                   Items begin, Items end, std::vector<Rect>& out) const;
  Rect clipped(std::uint64_t row, std::uint64_t column, std::uint64_t rows,
               std::uint64_t columns) const;

  std::uint64_t rows_ = 0, columns_ = 0, edge_ = 0;
  std::uint64_t grid_rows_ = 0, grid_columns_ = 0;  // tiles
  Axis axis_ = Axis::rows;
  Items items_ = 0;
};

// Tiles of a kernel in the order of the items: entry = tile row << 16 | tile column, and item i has
// those of first[i] .. first[i + 1].
struct TileTable {
  std::vector<std::uint32_t> tiles;
  std::vector<std::uint32_t> first;
};
// tile_rows and tile_columns divide the item's edge on the axes that are split.
TileTable tile_table(const Geometry& geometry, std::uint64_t tile_rows, std::uint64_t tile_columns);

}  // namespace mgpu::product
