// Transfers between shares that are cut along two axes. Items are pieces of layers (rows of a
// plane, planes of a box), namely cells of rows or rows of planes.
#pragma once

#include <span>
#include <vector>

#include "suites/stencil/problem.hpp"

namespace mgpu::stencil {

// Returns the patch extended by `layers` layers on both sides and by `aside` cells (or rows) to
// either side. In a periodic grid it continues at the other end, so it may consist of several
// patches.
std::vector<Patch> extended(const Problem& problem, const Patch& patch, std::uint64_t layers,
                            std::uint64_t aside);

// Returns the transfers after a step; those of more than a few layers are packed.
std::vector<Transfer> transfers_among(const Problem& problem, std::span<const Owner> owners);

// Returns an upper bound of the cells that one exchange delivers to a device.
std::uint64_t most_landing(const Problem& problem);

}  // namespace mgpu::stencil
