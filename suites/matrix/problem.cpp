// Reading a problem, and the numbering of items.
#include "suites/matrix/problem.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "lib/workload/npy.hpp"

namespace mgpu::matrix {
namespace {

// Alpha or beta. What the precision holds with fewer digits, or not at all, would be another factor.
double factor(const SuiteParams& params, const char* name, Precision precision) {
  const std::string& text = params.options.at(name);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool wide = precision == Precision::fp64, number = error == std::errc() && end == text.data() + text.size();
  const double most = wide ? std::numeric_limits<double>::max() : static_cast<double>(std::numeric_limits<float>::max());
  const double least = wide ? std::numeric_limits<double>::min() : static_cast<double>(std::numeric_limits<float>::min());
  const double rounds_to_most = wide ? most : 0x1.fffffefffffffp127, magnitude = std::abs(value);
  if (number && (value == 0 || (magnitude >= least && magnitude <= rounds_to_most)))  // what the kernels are given
    return wide ? value : static_cast<double>(static_cast<float>(std::clamp(value, -most, most)));
  throw Error(ErrorKind::usage, std::string("--") + name + ": " + in_quotes(text) + " is not a number that --precision " +
                                    params.options.at("precision") + " holds; accepted: 0, or a magnitude from " +
                                    (wide ? "2.3e-308 to 1.7e308" : "1.2e-38 to 3.4e38"));
}

// The shapes of A and B (and C) say everything; --cols and --inner may only agree.
void sizes_of_files(const SuiteParams& params, Problem& problem) {
  const auto files = [&] {
    std::vector<std::filesystem::path> all{*params.input};
    all.insert(all.end(), params.more_inputs.begin(), params.more_inputs.end());
    return all;
  }();
  const auto refuse = [](const std::string& why) { return Error(ErrorKind::input, "--input: " + why); };
  const std::size_t wanted = problem.reads_c() ? 3 : 2;
  if (files.size() != wanted) {
    throw refuse(std::to_string(files.size()) + (files.size() == 1 ? " file" : " files") +
                 "; accepted: " + (problem.reads_c() ? "A.npy,B.npy,C.npy, as --beta is not 0" : "A.npy,B.npy, as --beta is 0"));
  }
  std::vector<NpyShape> shapes;
  for (const auto& file : files) {
    shapes.push_back(read_npy_shape(file));
    if (shapes.back().element != problem.element()) {
      throw refuse(file.string() + " holds " + (shapes.back().element == 8 ? "float64" : "float32") +
                   "; accepted with --precision " + params.options.at("precision") + ": " +
                   (problem.element() == 8 ? "float64" : "float32"));
    }
  }
  const auto text = [&](std::size_t i) {
    return files[i].string() + " is " + std::to_string(shapes[i].rows) + " x " + std::to_string(shapes[i].columns);
  };
  if (shapes[0].columns != shapes[1].rows) throw refuse(text(0) + ", " + text(1) + "; accepted: as many columns in A as rows in B");
  if (wanted == 3 && (shapes[2].rows != shapes[0].rows || shapes[2].columns != shapes[1].columns))
    throw refuse(text(2) + "; accepted: the rows of A and the columns of B, " + std::to_string(shapes[0].rows) + " x " +
                 std::to_string(shapes[1].columns));
  problem.rows = shapes[0].rows;
  problem.columns = shapes[1].columns;
  problem.inner = shapes[0].columns;
  for (const auto& [option, value] : {std::pair{"cols", problem.columns}, {"inner", problem.inner}}) {
    const std::string& given = params.options.at(option);
    if (given == "same" || given == std::to_string(value)) continue;
    throw Error(ErrorKind::usage,
                std::string("--") + option + ": " + in_quotes(given) + ", but the files of --input have " + std::to_string(value));
  }
}

}  // namespace

Problem problem_of(const SuiteParams& params) {
  Problem problem;
  const auto& options = params.options;
  const std::string& precision = options.at("precision");
  problem.precision = precision == "fp64" ? Precision::fp64 : precision == "3xtf32" ? Precision::tf32x3 : Precision::fp32;
  problem.axis = options.at("axis") == "rows" ? Axis::rows : options.at("axis") == "cols" ? Axis::cols : Axis::tiles;
  constexpr std::array<const char*, 4> kernels{"auto", "portable", "vector", "tensor"};
  problem.kernel = static_cast<KernelChoice>(std::find(kernels.begin(), kernels.end(), options.at("kernel")) - kernels.begin());
  if (problem.kernel == KernelChoice::tensor && problem.precision == Precision::fp32)
    throw Error(ErrorKind::usage,
                "--kernel: \"tensor\" is for --precision fp64 and 3xtf32; accepted with fp32: auto, portable, vector");
  if (problem.precision == Precision::tf32x3 && problem.kernel != KernelChoice::automatic && problem.kernel != KernelChoice::tensor)
    throw Error(ErrorKind::usage,
                "--kernel: " + in_quotes(options.at("kernel")) + " has no 3xtf32; accepted with that --precision: auto, tensor");
  problem.alpha = factor(params, "alpha", problem.precision);
  problem.beta = factor(params, "beta", problem.precision);
  problem.integers = options.at("data") == "integers";
  if (params.input) {
    sizes_of_files(params, problem);
  } else {
    const auto size = [&](const char* name) {
      const std::string& text = options.at(name);
      return text == "same" ? params.size : std::stoull(text);
    };
    problem.rows = params.size;
    problem.columns = size("cols");
    problem.inner = size("inner");
  }
  const auto limit = [](const char* what, std::uint64_t value, std::uint64_t most) {
    if (value <= most) return;
    throw Error(ErrorKind::usage,
                std::string(what) + ": " + std::to_string(value) + " is too many; accepted: 0 to " + std::to_string(most));
  };
  limit("--size (rows)", problem.rows, most_rows);
  limit("--cols", problem.columns, most_rows);
  limit("--inner", problem.inner, most_inner);
  return problem;
}

Geometry Geometry::of(std::uint64_t rows, std::uint64_t columns, Axis axis) {
  Geometry made;
  made.rows_ = rows;
  made.columns_ = columns;
  made.axis_ = axis;
  // Items as fine as a kernel's tile that still fills a large GPU: 128 x 128 from 256 of them on, below that smaller ones.
  const double elements = static_cast<double>(rows) * static_cast<double>(columns);
  made.edge_ = elements >= 2048.0 * 2048 ? 128 : elements >= 512.0 * 512 ? 64 : 32;
  constexpr Items most_items = Items{1} << 16;
  const auto tiles = [](std::uint64_t n, std::uint64_t edge) { return (n + edge - 1) / edge; };
  if (axis == Axis::tiles) {
    // From 8192 x 8192 on 256, which a range of items cuts into fewer pieces.
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

Rect Geometry::clipped(std::uint64_t row, std::uint64_t column, std::uint64_t rows, std::uint64_t columns) const {
  const std::uint64_t row_end = std::min(rows_, row + rows), column_end = std::min(columns_, column + columns);
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

// The block of size x size tiles at (row, column), whose tiles inside the grid are numbered from `rank` on.
void Geometry::cover_block(std::uint64_t row, std::uint64_t column, std::uint64_t size, Items& rank, Items begin, Items end,
                           std::vector<Rect>& out) const {
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

TileTable tile_table(const Geometry& geometry, std::uint64_t tile_rows, std::uint64_t tile_columns) {
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

}  // namespace mgpu::matrix
