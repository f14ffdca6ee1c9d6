#include "suites/common/tiles.hpp"

#include <algorithm>

namespace mgpu::product {

Geometry Geometry::of(std::uint64_t rows, std::uint64_t columns, Axis axis) {
  Geometry made;
  made.rows_ = rows;
  made.columns_ = columns;
  made.axis_ = axis;
  // Items are the kernel's tile of 128 x 128 from 256 such tiles upwards, and smaller below that,
  // so that they still fill a large GPU.
  const double elements = static_cast<double>(rows) * static_cast<double>(columns);
  made.edge_ = elements >= 2048.0 * 2048 ? 128 : elements >= 512.0 * 512 ? 64 : 32;
  constexpr Items most_items = Items{1} << 16;
  const auto tiles = [](std::uint64_t n, std::uint64_t edge) { return ceil_div(n, edge); };
  if (axis == Axis::tiles) {
    // Edge 256 from 8192 x 8192 upwards: a range of items is then covered by fewer rectangles.
    if (elements >= 8192.0 * 8192) made.edge_ = 256;
    while (tiles(rows, made.edge_) * tiles(columns, made.edge_) > most_items) made.edge_ *= 2;
    made.grid_rows_ = tiles(rows, made.edge_);
    made.grid_columns_ = tiles(columns, made.edge_);
    made.items_ = made.grid_rows_ * made.grid_columns_;
  } else {
    made.items_ = tiles(axis == Axis::rows ? rows : columns, made.edge_);
  }
  if (rows == 0 || columns == 0) made.items_ = 1;
  return made;
}

Geometry Geometry::of_rows(std::uint64_t rows, std::uint64_t columns, std::uint64_t edge) {
  Geometry made;
  made.rows_ = rows;
  made.columns_ = columns;
  made.edge_ = edge;
  made.items_ = std::max<std::uint64_t>(1, ceil_div(rows, edge));
  return made;
}

Rect Geometry::clipped(std::uint64_t row, std::uint64_t column, std::uint64_t rows,
                       std::uint64_t columns) const {
  const std::uint64_t row_end = std::min(rows_, row + rows),
                      column_end = std::min(columns_, column + columns);
  return {row, row_end - std::min(row, row_end), column, column_end - std::min(column, column_end)};
}

Rect Geometry::rect(Items item) const { return cover(item, item + 1).front(); }

std::vector<Rect> Geometry::cover(Items begin, Items end) const {
  if (axis_ == Axis::rows) return {clipped(begin * edge_, 0, (end - begin) * edge_, columns_)};
  if (axis_ == Axis::cols) return {clipped(0, begin * edge_, rows_, (end - begin) * edge_)};
  std::vector<Rect> out;
  std::uint64_t size = 1;
  while (size < std::max(grid_rows_, grid_columns_)) size *= 2;
  Items rank = 0;
  cover_block(0, 0, size, rank, begin, end, out);
  if (out.empty()) out.push_back({});
  return out;
}

// Appends the rectangles of items begin .. end in the block of `size` x `size` tiles at (row,
// column). Its tiles inside the grid are numbered from `rank`, which advances by their number.
void Geometry::cover_block(std::uint64_t row, std::uint64_t column, std::uint64_t size, Items& rank,
                           Items begin, Items end, std::vector<Rect>& out) const {
  if (row >= grid_rows_ || column >= grid_columns_ || rank >= end) return;
  const Items count = std::min(size, grid_rows_ - row) * std::min(size, grid_columns_ - column);
  if (rank + count <= begin) {
    rank += count;
    return;
  }
  if (rank >= begin && rank + count <= end) {
    out.push_back(clipped(row * edge_, column * edge_, size * edge_, size * edge_));
    rank += count;
    return;
  }
  const std::uint64_t half = size / 2;
  cover_block(row, column, half, rank, begin, end, out);
  cover_block(row, column + half, half, rank, begin, end, out);
  cover_block(row + half, column, half, rank, begin, end, out);
  cover_block(row + half, column + half, half, rank, begin, end, out);
}

TileTable tile_table(const Geometry& geometry, std::uint64_t tile_rows,
                     std::uint64_t tile_columns) {
  TileTable table;
  table.first.push_back(0);
  for (Items item = 0; item < geometry.items(); ++item) {
    const Rect rect = geometry.rect(item);
    const std::uint64_t row_end = rect.row + rect.rows, column_end = rect.column + rect.columns;
    for (std::uint64_t r = rect.row; r < row_end && rect.columns > 0; r += tile_rows) {
      for (std::uint64_t c = rect.column; c < column_end; c += tile_columns)
        table.tiles.push_back(static_cast<std::uint32_t>(r / tile_rows << 16 | c / tile_columns));
    }
    table.first.push_back(static_cast<std::uint32_t>(table.tiles.size()));
  }
  return table;
}

}  // namespace mgpu::product
