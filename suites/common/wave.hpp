// Products by tiles that are larger than a device: what one slice needs of A, B and C, gathered.
// The rows of A and the columns of B that its items touch lie side by side on the device, so that
// to the kernels it is a smaller product. Pure.
#pragma once

#include <vector>

#include "suites/common/tiles.hpp"

namespace mgpu::product {

struct Stretch {  // `count` rows (columns) of the problem, from `from` on, are the wave's from `to`
                  // on
  std::uint64_t from = 0, count = 0, to = 0;
};

struct Wave {
  std::vector<Stretch> rows, columns;  // ascending; neighbours are one
  std::uint64_t row_count = 0, column_count = 0;
  std::vector<std::uint32_t>
      tiles;  // as in a TileTable, but of the wave: tile row << 16 | tile column
  // Where rows `first` and columns `first` of the problem, which it has, lie in the wave.
  std::uint64_t place_of_row(std::uint64_t row) const;
  std::uint64_t place_of_column(std::uint64_t column) const;
};
// tile_rows and tile_columns divide the item's edge.
Wave wave_of(const Geometry& geometry, Items begin, Items end, std::uint64_t tile_rows,
             std::uint64_t tile_columns);

// The most items along either side that any range of `items` items touches.
struct WaveSize {
  std::uint64_t rows = 0, columns = 0;
};
WaveSize largest_wave(const Geometry& geometry, Items items);

}  // namespace mgpu::product
