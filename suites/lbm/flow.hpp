// Initial states of flows, and what is known of flows without computing a step.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "lib/workload/npy.hpp"
#include "suites/lbm/problem.hpp"

namespace mgpu::lbm {

// Values of a cell: velocity along x, y and z, in cells per step, and density - 1.
using Cell = std::array<float, 4>;

// Factors of the initial state without a file. With a = along[(x + y) % n] and b = across[z], the
// velocity of cell x, y, z is a[0] b[0] along x and y and a[1] b[1] along z, and its density is 1 +
// a[2] + b[2].
struct Tables {
  std::vector<Cell> along, across;
};
Tables tables_of(const Problem& problem);

// Throws Error(input) if cells of a file have values that no fluid has: numbers that are not
// finite, or densities of 0 or less.
void check_cells(const std::string& file, const NpyShape& shape, std::span<const std::byte> cells);
// Returns the largest speed among the cells of a file, in cells per step.
double largest_speed(std::span<const std::byte> cells);

// The initial state of all cells: along x, then rows, then planes. It is taken from `file` unless
// that is empty, else from tables.
class Beginning {
 public:
  Beginning(const Problem& problem, std::span<const std::byte> file);
  Cell at(std::uint64_t x, std::uint64_t y, std::uint64_t z) const;
  const Tables& tables() const { return tables_; }

 private:
  const Problem& problem_;
  Tables tables_;
  std::span<const std::byte> file_;
};

// Comparison of the result with physics: conservation of mass, the decay of a vortex, the start of
// a channel, and published results for a cavity.
struct Physics {
  std::string told;  // what was compared, as a message
  // Names the difference that the method's error does not explain; empty if there is none.
  std::string wrong;
};
Physics compare_physics(const Problem& problem, const Beginning& beginning,
                        std::span<const std::byte> result, unsigned threads);

}  // namespace mgpu::lbm
