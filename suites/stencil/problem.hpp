// The problem: the stencil, the grid, the number of steps.
#pragma once

#include <algorithm>

#include "lib/workload/workload.hpp"
#include "suites/common/blocks.hpp"

namespace mgpu::stencil {

enum class Kind {
  // A plane, periodic from top to bottom, with fixed first and last columns: mean of four
  // neighbours.
  jacobi2d,
  heat3d,  // a box with fixed outermost cells: explicit steps of the heat equation, seven points
  // A plane of sums. Each step adds the weighted cells along both axes up to a radius, and
  // increases all cells by one: the stencil of the Parallel Research Kernels
  // (https://github.com/ParRes/Kernels).
  star
};

const char* name_of(Kind kind);

enum class Initial {
  uniform,    // seeded, in (-1, 1)
  ramp,       // star: row + column
  sine,       // jacobi2d: zero except for the fixed columns, which have one period of a sine
  eigenmode,  // jacobi2d and heat3d: product of waves, which each step reduces by the same factor
  file        // --input
};

enum class Launches {  // how steps are launched
  chosen,              // persistent on NVIDIA GPUs, if possible and if there is room
  enqueued,            // one launch per step
  persistent           // many steps per launch
};

enum class HaloWay {  // how halos reach the neighbours
  chosen,             // kernels on NVIDIA GPUs that reach each other's memory, else puts
  kernels,            // the kernels of steps store halos there and wait for their own
  puts                // copies after steps
};

struct Problem {
  Kind kind = Kind::jacobi2d;
  Initial initial = Initial::uniform;
  std::uint64_t n = 0;                  // cells along each side
  Bytes element = sizeof(float);        // size of a cell
  std::uint32_t steps = 0;              // rounds
  std::uint32_t depth = 1;              // halo depth: steps per exchange
  std::uint32_t radius = 1;             // layers on either side that a step reads
  std::uint64_t columns = 1;            // columns of blocks that layers are cut into; 1: not cut
  std::uint32_t check_every = 0;        // steps per norm of the change; 0: none
  std::uint32_t checkpoint_rounds = 0;  // steps per checkpoint; 0: none
  bool overlap = true;  // compute outgoing layers first, and send them during the rest
  Launches launches = Launches::enqueued;
  HaloWay halo_way = HaloWay::puts;
  // heat3d: fraction of a difference that a step evens out, rounded to the precision.
  double rate = 0.1;
  std::uint64_t seed = 0;

  bool wide() const { return element == sizeof(double); }
  bool periodic() const { return kind == Kind::jacobi2d; }
  std::uint64_t layers() const { return n; }  // rows, or planes
  PiecesOfLayers pieces() const { return {layers(), n, columns}; }
  std::uint64_t items() const { return layers() * columns; }
  std::uint64_t rows_of_layer() const { return kind == Kind::heat3d ? n : 1; }
  std::uint64_t cells_of_layer() const { return n * rows_of_layer(); }
  std::uint64_t cells() const { return layers() * cells_of_layer(); }
  // Returns the neighbours' layers that a share keeps on either side.
  std::uint32_t halo() const { return depth * radius; }
  // Returns the cells per row on a device, where rows begin at multiples of 128 bytes.
  std::uint64_t stride() const { return (n + 127 / element) / (128 / element) * (128 / element); }
  // Returns the distance, in cells on a device, between places along the axis that blocks are cut
  // on: 1 in a row, a row in a plane.
  std::uint64_t unit() const { return kind == Kind::heat3d ? stride() : 1; }
  Bytes row_bytes() const { return n * element; }  // row in host memory, without gaps
  Bytes layer_bytes() const { return rows_of_layer() * stride() * element; }
  Bytes host_bytes() const { return cells() * element; }  // state in host memory
  // Tells whether kernels of steps exchange halos while they compute other cells; not in steps
  // whose change is measured.
  bool hides_halos() const { return halo_way != HaloWay::puts && overlap && check_every == 0; }
  // Returns the number of norms of the change. Each is the sum of one number per layer.
  std::uint64_t checks() const { return check_every > 0 ? steps / check_every : 0; }
  bool is_checked(std::uint32_t step) const {
    return check_every > 0 && (step + 1) % check_every == 0;
  }
  // Returns the next step that has to be launched alone, since its change is measured.
  std::uint32_t next_checked(std::uint32_t step) const {
    return check_every > 0 ? std::min(steps, (step / check_every + 1) * check_every - 1) : steps;
  }
  Bytes change_bytes() const { return checks() * layers() * element; }
};

inline constexpr std::uint64_t most_cells_2d = 1 << 17, most_cells_3d = 1 << 12;  // along a side

// Returns 1 / (2 d radius), the weight of the cells at distance d of a star.
template <class Real>
constexpr Real star_weight(std::uint32_t radius, std::uint32_t d) {
  return d <= radius ? Real{1} / static_cast<Real>(2 * d * radius) : Real{0};
}

// Reads the problem. Throws Error(usage), Error(input).
Problem problem_of(const SuiteParams& params);
Shape shape_of(const Problem& problem);

}  // namespace mgpu::stencil
