#include "suites/common/wave.hpp"

#include <algorithm>

namespace mgpu::product {
namespace {

// Appends the stretches of 0 .. end that are covered by items i with needed[i]; an item is `edge`
// long. Returns their total length.
std::uint64_t gather(const std::vector<bool>& needed, std::uint64_t edge, std::uint64_t end,
                     std::vector<Stretch>& out) {
  std::uint64_t to = 0;
  for (std::uint64_t i = 0; i < needed.size(); ++i) {
    if (!needed[i]) continue;
    const std::uint64_t from = i * edge, count = std::min(edge, end - from);
    if (!out.empty() && out.back().from + out.back().count == from) {
      out.back().count += count;
    } else {
      out.push_back({from, count, to});
    }
    to += count;
  }
  return to;
}

std::uint64_t place_of(const std::vector<Stretch>& stretches, std::uint64_t at) {
  const auto after = std::upper_bound(
      stretches.begin(), stretches.end(), at,
      [](std::uint64_t value, const Stretch& stretch) { return value < stretch.from; });
  const Stretch& in = *(after - 1);
  return in.to + (at - in.from);
}

}  // namespace

std::uint64_t Wave::place_of_row(std::uint64_t row) const { return place_of(rows, row); }
std::uint64_t Wave::place_of_column(std::uint64_t column) const {
  return place_of(columns, column);
}

Wave wave_of(const Geometry& geometry, Items begin, Items end, std::uint64_t tile_rows,
             std::uint64_t tile_columns) {
  const std::uint64_t edge = geometry.edge();
  std::vector<bool> rows(geometry.grid_rows(), false), columns(geometry.grid_columns(), false);
  std::vector<Rect> rects;
  for (Items item = begin; item < end; ++item) {
    rects.push_back(geometry.rect(item));
    rows[rects.back().row / edge] = columns[rects.back().column / edge] = true;
  }
  Wave wave;
  wave.row_count = gather(rows, edge, geometry.rows(), wave.rows);
  wave.column_count = gather(columns, edge, geometry.columns(), wave.columns);
  for (const Rect& rect : rects) {
    const std::uint64_t row = wave.place_of_row(rect.row),
                        column = wave.place_of_column(rect.column);
    for (std::uint64_t r = row; r < row + rect.rows; r += tile_rows) {
      for (std::uint64_t c = column; c < column + rect.columns; c += tile_columns)
        wave.tiles.push_back(static_cast<std::uint32_t>(r / tile_rows << 16 | c / tile_columns));
    }
  }
  return wave;
}

// Slides a window of `items` items along their order.
WaveSize largest_wave(const Geometry& geometry, Items items) {
  const std::uint64_t edge = geometry.edge();
  std::vector<Items> in_row(geometry.grid_rows(), 0), in_column(geometry.grid_columns(), 0);
  WaveSize now, largest;
  std::vector<Rect> window(items);  // ring buffer
  for (Items item = 0; item < geometry.items(); ++item) {
    Rect& slot = window[item % items];
    if (item >= items) {
      if (--in_row[slot.row / edge] == 0) --now.rows;
      if (--in_column[slot.column / edge] == 0) --now.columns;
    }
    slot = geometry.rect(item);
    if (in_row[slot.row / edge]++ == 0) ++now.rows;
    if (in_column[slot.column / edge]++ == 0) ++now.columns;
    largest = {std::max(largest.rows, now.rows), std::max(largest.columns, now.columns)};
  }
  return largest;
}

}  // namespace mgpu::product
