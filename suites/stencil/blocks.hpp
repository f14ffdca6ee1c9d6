// Where shares lie that are cut along two axes. Items are pieces of layers (rows of a plane, planes
// of a box), numbered down the first column of pieces, then down the next: a share is at most three
// patches.
#pragma once

#include <span>
#include <vector>

#include "suites/common/shares.hpp"
#include "suites/stencil/problem.hpp"

namespace mgpu::stencil {

using mgpu::Patch;  // of layers, cells of rows or rows of planes

inline std::vector<Patch> patches_of(const Problem& problem, const Slice& items) {
  return mgpu::patches_of({problem.layers(), problem.n, problem.columns}, items);
}

// The patch and what lies around it, so many layers on and so many cells (rows) to either side;
// where the grid is periodic it goes on at the other end. May be in several patches.
std::vector<Patch> extended(const Problem& problem, const Patch& patch, std::uint64_t layers,
                            std::uint64_t aside);

// What one device needs of another one's share. Where that is more than a few layers it is sent in
// one piece, which lands in memory of its own, so many cells from its beginning.
struct Transfer {
  DeviceIndex from, to;
  Patch patch;
  bool packed = false;
  std::uint64_t landing = 0;
};

std::vector<Transfer> transfers_among(const Problem& problem, std::span<const Owner> owners);

// Cells of all that may land on a device in one exchange.
std::uint64_t most_landing(const Problem& problem);

}  // namespace mgpu::stencil
