// What devices send each other where shares are cut along two axes: pieces of layers are rows of
// planes (suites/common/shares.hpp).
#pragma once

#include <vector>

#include "suites/common/shares.hpp"
#include "suites/lbm/problem.hpp"

namespace mgpu::lbm {

// Populations of a patch of one device that go to cells of another one in a step: it needs them
// beside its own. They land in memory of their own, so many numbers from its beginning.
struct Transfer {
  DeviceIndex from, to;
  Patch patch;
  std::uint32_t which = 0;  // a bit for each population
  std::uint64_t landing = 0;
  std::uint64_t numbers(const Problem& problem) const;
};

std::vector<Patch> patches_of(const Problem& problem, const Slice& items);

std::vector<Transfer> transfers_among(const Problem& problem, std::span<const Owner> owners);

}  // namespace mgpu::lbm
