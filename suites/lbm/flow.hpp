// What flows begin with, and what is known of them without computing a step.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "lib/workload/npy.hpp"
#include "suites/lbm/problem.hpp"

namespace mgpu::lbm {

// Of a cell: the velocity along x, y and z, in cells a step, and what the density exceeds 1 by.
using Cell = std::array<float, 4>;

// Of a cell x, y, z without a file the velocity is a[0] b[0] along x and y and a[1] b[1] along z,
// the density a[2] + b[2], where a is along[(x + y) % n] and b across[z].
struct Tables {
  std::vector<Cell> along, across;
};
Tables tables_of(const Problem& problem);

// Throws Error(input) for cells of a file that no fluid has: numbers that are not finite, densities
// of 0 or less.
void check_cells(const std::string& file, const NpyShape& shape, std::span<const std::byte> cells);
// Of cells of a file, in cells a step.
double largest_speed(std::span<const std::byte> cells);

// Of all cells: along x, then rows, then planes; `file` instead of tables where there is one.
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

// What physics says of the result: that no mass is lost, how fast a vortex decays, how a channel
// starts, what others computed of a cavity.
struct Physics {
  std::string told;   // for people
  std::string wrong;  // what differs by more than the method's error explains; empty: nothing
};
Physics compare_physics(const Problem& problem, const Beginning& beginning,
                        std::span<const std::byte> result, unsigned threads);

}  // namespace mgpu::lbm
