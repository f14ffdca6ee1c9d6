#include "suites/stencil/blocks.hpp"

#include <algorithm>

namespace mgpu::stencil {
std::vector<Patch> extended(const Problem& problem, const Patch& patch, std::uint64_t layers,
                            std::uint64_t aside) {
  const std::uint64_t n = problem.layers();
  Patch wide{patch.first - std::min(patch.first, layers), std::min(n, patch.end + layers),
             patch.left - std::min(patch.left, aside), std::min(problem.n, patch.right + aside)};
  if (!problem.periodic()) return {wide};
  if (patch.end - patch.first + 2 * layers >= n) return {{0, n, wide.left, wide.right}};
  std::vector<Patch> all{wide};
  if (patch.first < layers) all.push_back({n - (layers - patch.first), n, wide.left, wide.right});
  if (patch.end + layers > n) all.push_back({0, patch.end + layers - n, wide.left, wide.right});
  return all;
}

// Returns what patches need for a step, or for --depth steps, which also need the cells around
// corners.
std::vector<Transfer> transfers_among(const Problem& problem, std::span<const Owner> owners) {
  const std::uint64_t halo = problem.halo();
  const auto wanted = [&](const Patch& patch) {
    std::vector<std::pair<Patch, std::uint32_t>> all;
    const auto add = [&](std::uint64_t layers, std::uint64_t aside) {
      for (const Patch& each : extended(problem, patch, layers, aside)) all.emplace_back(each, 0);
    };
    add(halo, problem.depth > 1 ? halo : 0);
    if (problem.depth == 1) add(0, halo);
    return all;
  };
  return mgpu::transfers_among(problem.pieces(), owners, wanted, [&](const Transfer& transfer) {
    const Patch& patch = transfer.patch;
    const std::uint64_t layers = patch.end - patch.first;
    return layers > halo ? layers * (patch.right - patch.left) * problem.unit() : 0;
  });
}

// A share has at most four edges between layers: that of its first column, of its last column, and
// the two of the whole columns between. In periodic grids, both ends of each may arrive in one
// piece.
std::uint64_t most_landing(const Problem& problem) {
  return 8 * problem.halo() * (problem.layers() + 2 * problem.halo()) * problem.unit();
}

}  // namespace mgpu::stencil
