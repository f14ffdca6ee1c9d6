// How the result C of a product (row-major; A is rows x inner, B is inner x columns) is divided
// into items, and items into kernel tiles. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/base/units.hpp"

namespace mgpu::product {

enum class Axis { rows, cols, tiles };

// Largest dimensions, so that tile numbers fit 16 bits and k fits 32. A dimension may be 0.
constexpr std::uint64_t most_rows = std::uint64_t{1} << 21, most_inner = std::uint64_t{1} << 30;

struct Rect {  // part of C
  std::uint64_t row = 0, rows = 0, column = 0, columns = 0;
  bool operator==(const Rect&) const = default;
};

// Division of C into items. rows: `edge` whole rows each; cols: `edge` whole columns each; tiles:
// edge x edge, numbered along a Z-curve (Morton, 1966), so that a range of them is compact. It
// depends on the problem alone, never on a device. An empty C is one empty item.
class Geometry {
 public:
  static Geometry of(std::uint64_t rows, std::uint64_t columns, Axis axis);
  static Geometry of_rows(std::uint64_t rows, std::uint64_t columns,
                          std::uint64_t edge);  // by rows, `edge` rows per item

  Axis axis() const { return axis_; }
  Items items() const { return items_; }
  std::uint64_t edge() const { return edge_; }
  std::uint64_t rows() const { return rows_; }  // rows of C
  std::uint64_t columns() const { return columns_; }
  std::uint64_t grid_rows() const { return grid_rows_; }  // axis tiles: items along each side
  std::uint64_t grid_columns() const { return grid_columns_; }
  Rect rect(Items item) const;
  // Returns items [begin, end) as few rectangles: one by rows or columns; by tiles, the largest
  // blocks of the Z-curve that fit.
  std::vector<Rect> cover(Items begin, Items end) const;

 private:
  void cover_block(std::uint64_t row, std::uint64_t column, std::uint64_t size, Items& rank,
                   Items begin, Items end, std::vector<Rect>& out) const;
  Rect clipped(std::uint64_t row, std::uint64_t column, std::uint64_t rows,
               std::uint64_t columns) const;

  std::uint64_t rows_ = 0, columns_ = 0, edge_ = 0;
  std::uint64_t grid_rows_ = 0, grid_columns_ = 0;  // axis tiles only
  Axis axis_ = Axis::rows;
  Items items_ = 0;
};

// Kernel tiles in the order of the items. An entry is tile row << 16 | tile column; item i has
// entries first[i] to first[i + 1].
struct TileTable {
  std::vector<std::uint32_t> tiles;
  std::vector<std::uint32_t> first;
};
// Lists the tiles. tile_rows and tile_columns must divide the items' edge on the axes that are
// split.
TileTable tile_table(const Geometry& geometry, std::uint64_t tile_rows, std::uint64_t tile_columns);

}  // namespace mgpu::product
