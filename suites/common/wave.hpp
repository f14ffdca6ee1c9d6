// Products by tiles that are larger than a device's memory: a wave gathers what one slice needs of
// A, B and C. The rows of A and columns of B that its items touch are contiguous on the device, so
// that the kernels see a smaller product. Pure.
#pragma once

#include <vector>

#include "suites/common/tiles.hpp"

namespace mgpu::product {

// Adjacent rows (columns): `count` of the problem from `from` on; in the wave they begin at `to`.
struct Stretch {
  std::uint64_t from = 0, count = 0, to = 0;
};

struct Wave {
  std::vector<Stretch> rows, columns;  // ascending; adjacent ones are joined
  std::uint64_t row_count = 0, column_count = 0;
  // Entries as in a TileTable (tile row << 16 | tile column), but of tiles of the wave.
  std::vector<std::uint32_t> tiles;
  // Return where a row (column) of the problem, which must be in the wave, lies in the wave.
  std::uint64_t place_of_row(std::uint64_t row) const;
  std::uint64_t place_of_column(std::uint64_t column) const;
};
// Gathers a wave. tile_rows and tile_columns must divide the items' edge.
Wave wave_of(const Geometry& geometry, Items begin, Items end, std::uint64_t tile_rows,
             std::uint64_t tile_columns);

// The most items along either side that any range of `items` items touches.
struct WaveSize {
  std::uint64_t rows = 0, columns = 0;
};
WaveSize largest_wave(const Geometry& geometry, Items items);

}  // namespace mgpu::product
