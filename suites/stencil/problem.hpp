// What is asked for: which stencil, on how large a grid, for how many steps.
#pragma once

#include <algorithm>

#include "lib/workload/workload.hpp"
#include "suites/common/blocks.hpp"

namespace mgpu::stencil {

enum class Kind {
  jacobi2d,  // a plane, periodic from top to bottom, its first and last column fixed: the mean of
             // four neighbours
  heat3d,    // a box, its outermost cells fixed: explicit steps of the heat equation, seven points
  // A plane: sums that gain, in each step, the weighted cells along both axes up to a radius, of
  // cells that grow by one: the stencil of the Parallel Research Kernels
  // (https://github.com/ParRes/Kernels).
  star
};

const char* name_of(Kind kind);

enum class Initial {
  uniform,  // seeded, in (-1, 1)
  ramp,     // of star: row + column
  sine,  // of jacobi2d: nothing but in the fixed columns, which have one period of a sine from the
         // first row to the last
  eigenmode,  // of jacobi2d and heat3d: a product of waves, which each step makes smaller by the
              // same factor
  file        // --input
};

enum class Launches {  // how steps get onto a device
  chosen,              // persistent on NVIDIA GPUs, where that can be and there is room
  enqueued,            // one after another
  persistent           // many by one launch
};

enum class HaloWay {  // how halos reach the neighbours
  chosen,             // by kernels on NVIDIA GPUs, where those reach memory of each other
  kernels,            // of steps, which store them there and wait for those that they need
  puts                // after steps
};

struct Problem {
  Kind kind = Kind::jacobi2d;
  Initial initial = Initial::uniform;
  std::uint64_t n = 0;                  // cells along each side
  Bytes element = sizeof(float);        // of a cell
  std::uint32_t steps = 0;              // rounds
  std::uint32_t depth = 1;              // steps from one exchange to the next
  std::uint32_t radius = 1;             // layers on either side that a step needs
  std::uint64_t columns = 1;            // of blocks, into which layers are cut; 1: they are not
  std::uint32_t check_every = 0;        // steps from one norm of the change to the next; 0: none
  std::uint32_t checkpoint_rounds = 0;  // steps from one checkpoint to the next; 0: none
  bool overlap = true;  // what is exchanged is computed first, and sent while the rest is
  Launches launches = Launches::enqueued;
  HaloWay halo_way = HaloWay::puts;
  double rate =
      0.1;  // of heat3d: how much of a difference a step evens out; a value of the precision
  std::uint64_t seed = 0;

  bool wide() const { return element == sizeof(double); }
  bool periodic() const { return kind == Kind::jacobi2d; }
  std::uint64_t layers() const { return n; }  // rows, or planes
  PiecesOfLayers pieces() const { return {layers(), n, columns}; }
  std::uint64_t items() const { return layers() * columns; }
  std::uint64_t rows_of_layer() const { return kind == Kind::heat3d ? n : 1; }
  std::uint64_t cells_of_layer() const { return n * rows_of_layer(); }
  std::uint64_t cells() const { return layers() * cells_of_layer(); }
  std::uint32_t halo() const {
    return depth * radius;
  }  // layers of others that a share keeps, on either side
  // On a device: rows begin at multiples of 128 bytes.
  std::uint64_t stride() const { return (n + 127 / element) / (128 / element) * (128 / element); }
  // Cells on a device from one place along the axis that blocks are cut on to the next: of a row,
  // or rows of a plane.
  std::uint64_t unit() const { return kind == Kind::heat3d ? stride() : 1; }
  Bytes row_bytes() const { return n * element; }  // of a row in host memory, without gaps
  Bytes layer_bytes() const { return rows_of_layer() * stride() * element; }
  Bytes host_bytes() const { return cells() * element; }  // of a state in host memory
  // Kernels of steps exchange halos while they compute what needs none, but for steps whose change
  // is measured.
  bool hides_halos() const { return halo_way != HaloWay::puts && overlap && check_every == 0; }
  // Norms of the change: each is the sum of one number of every layer.
  std::uint64_t checks() const { return check_every > 0 ? steps / check_every : 0; }
  bool is_checked(std::uint32_t step) const {
    return check_every > 0 && (step + 1) % check_every == 0;
  }
  // Not before it: a step is needed by itself whose change is measured.
  std::uint32_t next_checked(std::uint32_t step) const {
    return check_every > 0 ? std::min(steps, (step / check_every + 1) * check_every - 1) : steps;
  }
  Bytes change_bytes() const { return checks() * layers() * element; }
};

inline constexpr std::uint64_t most_cells_2d = 1 << 17, most_cells_3d = 1 << 12;  // along a side

// 1 / (2 d radius), the weight of the cells at distance d of a star.
template <class Real>
constexpr Real star_weight(std::uint32_t radius, std::uint32_t d) {
  return d <= radius ? Real{1} / static_cast<Real>(2 * d * radius) : Real{0};
}

// Throws Error(usage), Error(input).
Problem problem_of(const SuiteParams& params);
Shape shape_of(const Problem& problem);

}  // namespace mgpu::stencil
