// What is asked for: which stencil, on how large a grid, for how many steps.
#pragma once

#include "lib/workload/workload.hpp"

namespace mgpu::stencil {

enum class Kind {
  jacobi2d,  // a plane, periodic from top to bottom, its first and last column fixed: the mean of four neighbours
  heat3d     // a box, its outermost cells fixed: explicit steps of the heat equation, seven points
};

struct Problem {
  Kind kind = Kind::jacobi2d;
  std::uint64_t n = 0;      // cells along each side
  std::uint32_t steps = 0;  // rounds
  std::uint32_t depth = 1;  // steps from one exchange to the next, and layers that are exchanged
  bool overlap = true;      // what is exchanged is computed first, and sent while the rest is
  std::uint32_t checkpoint_rounds = 0;  // steps from one checkpoint to the next; 0: none
  float rate = 0.1F;        // of heat3d: how much of a difference a step evens out
  std::uint64_t seed = 0;

  bool periodic() const { return kind == Kind::jacobi2d; }
  std::uint64_t layers() const { return n; }  // items: rows, or planes
  std::uint64_t rows_of_layer() const { return kind == Kind::jacobi2d ? 1 : n; }
  std::uint64_t cells_of_layer() const { return n * rows_of_layer(); }
  std::uint64_t cells() const { return layers() * cells_of_layer(); }
  // On a device: rows begin at multiples of 128 bytes.
  std::uint64_t stride() const { return (n + 31) / 32 * 32; }
  Bytes layer_bytes() const { return rows_of_layer() * stride() * sizeof(float); }
  Bytes host_bytes() const { return cells() * sizeof(float); }  // of a state in host memory, without gaps
};

inline constexpr std::uint64_t most_cells_2d = 1 << 17, most_cells_3d = 1 << 12;  // along a side

// Throws Error(usage), Error(input).
Problem problem_of(const SuiteParams& params);
Shape shape_of(const Problem& problem);

}  // namespace mgpu::stencil
