// What is computed: C = alpha A B + beta C, row-major, A rows x inner, B inner x columns; and how C falls into items. Pure.
#pragma once

#include <functional>
#include <vector>

#include "lib/workload/workload.hpp"

namespace mgpu::matrix {

// tf32x3: operands and result are fp32, each product is the sum of three of TF32 (kernels/matrix_tf32.cl).
enum class Precision { fp32, fp64, tf32x3 };
enum class Axis { rows, cols, tiles };
enum class KernelChoice { automatic, portable, vector, tensor };

struct Problem {
  std::uint64_t rows = 0, columns = 0, inner = 0;
  Precision precision = Precision::fp32;
  Axis axis = Axis::rows;
  KernelChoice kernel = KernelChoice::automatic;
  double alpha = 1, beta = 0;
  bool integers = false;  // seeded operands are small integers

  Bytes element() const { return precision == Precision::fp64 ? 8 : 4; }
  // As BLAS defines it: with alpha 0 neither A nor B is read, with beta 0 C is not.
  std::uint64_t summed() const { return alpha == 0 ? 0 : inner; }
  bool reads_c() const { return beta != 0; }
  Bytes a_bytes() const { return rows * inner * element(); }
  Bytes b_bytes() const { return inner * columns * element(); }
  Bytes c_bytes() const { return rows * columns * element(); }
};

// Dimensions may be 0 and at most 2^21 (rows, columns) and 2^30 (inner), so that tiles are numbered in 16 bits and k in 32.
constexpr std::uint64_t most_rows = std::uint64_t{1} << 21, most_inner = std::uint64_t{1} << 30;

// Throws Error(usage) for an option or size it cannot do, Error(input) for files that do not go together.
Problem problem_of(const SuiteParams& params);

struct Rect {  // of C
  std::uint64_t row = 0, rows = 0, column = 0, columns = 0;
  bool operator==(const Rect&) const = default;
};

// Items of C. rows: `edge` whole rows each; cols: `edge` whole columns; tiles: edge x edge, numbered along a Z-curve (Morton,
// 1966), so that a range of them is compact. Depends on the problem alone, never on a device. An empty C is one empty item.
class Geometry {
 public:
  static Geometry of(std::uint64_t rows, std::uint64_t columns, Axis axis);

  Axis axis() const { return axis_; }
  Items items() const { return items_; }
  std::uint64_t edge() const { return edge_; }
  std::uint64_t rows() const { return rows_; }  // of C
  std::uint64_t columns() const { return columns_; }
  std::uint64_t grid_rows() const { return grid_rows_; }  // tiles: items along each side
  std::uint64_t grid_columns() const { return grid_columns_; }
  Rect rect(Items item) const;
  // Items [begin, end) as few rectangles: one, but for tiles, where they are the blocks of the Z-curve that fit.
  std::vector<Rect> cover(Items begin, Items end) const;

 private:
  void cover_block(std::uint64_t row, std::uint64_t column, std::uint64_t size, Items& rank, Items begin, Items end,
                   std::vector<Rect>& out) const;
  Rect clipped(std::uint64_t row, std::uint64_t column, std::uint64_t rows, std::uint64_t columns) const;

  std::uint64_t rows_ = 0, columns_ = 0, edge_ = 0;
  std::uint64_t grid_rows_ = 0, grid_columns_ = 0;  // tiles
  Axis axis_ = Axis::rows;
  Items items_ = 0;
};

// Tiles of a kernel in the order of the items: entry = tile row << 16 | tile column, and item i has those of first[i] .. first[i +
// 1].
struct TileTable {
  std::vector<std::uint32_t> tiles;
  std::vector<std::uint32_t> first;
};
// tile_rows and tile_columns divide the item's edge on the axes that are split.
TileTable tile_table(const Geometry& geometry, std::uint64_t tile_rows, std::uint64_t tile_columns);

}  // namespace mgpu::matrix
