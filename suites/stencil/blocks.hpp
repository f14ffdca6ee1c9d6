// Lists what shares that are cut along two axes need of each other. Items are pieces of layers
// (rows of a plane, planes of a box), of cells of rows or rows of planes.
#pragma once

#include <span>
#include <vector>

#include "suites/stencil/problem.hpp"

namespace mgpu::stencil {

// The patch and what lies around it, so many layers on and so many cells (rows) to either side;
// where the grid is periodic it goes on at the other end. May be in several patches.
std::vector<Patch> extended(const Problem& problem, const Patch& patch, std::uint64_t layers,
                            std::uint64_t aside);

// Packed where that is more than a few layers.
std::vector<Transfer> transfers_among(const Problem& problem, std::span<const Owner> owners);

// Cells of all that may land on a device in one exchange.
std::uint64_t most_landing(const Problem& problem);

}  // namespace mgpu::stencil
