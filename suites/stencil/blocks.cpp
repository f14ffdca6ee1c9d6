#include "suites/stencil/blocks.hpp"

#include <algorithm>

namespace mgpu::stencil {
namespace {

// What a patch needs for a step, or for --depth of them: these also need what lies around its
// corners.
std::vector<Patch> needed(const Problem& problem, const Patch& patch) {
  const std::uint64_t halo = problem.halo();
  if (problem.depth > 1) return extended(problem, patch, halo, halo);
  std::vector<Patch> all = extended(problem, patch, halo, 0);
  const std::vector<Patch> aside = extended(problem, patch, 0, halo);
  all.insert(all.end(), aside.begin(), aside.end());
  return all;
}

}  // namespace

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

std::vector<Transfer> transfers_among(const Problem& problem, std::span<const Owner> owners) {
  std::vector<Transfer> all;
  for (const Owner& to : owners) {
    std::uint64_t landing = 0;
    for (const Owner& from : owners) {
      if (&from == &to) continue;
      for (const Patch& mine : patches_of(problem, to.items)) {
        for (const Patch& wanted : needed(problem, mine)) {
          for (const Patch& theirs : patches_of(problem, from.items)) {
            const Patch patch = common_part(wanted, theirs);
            if (patch.empty()) continue;
            Transfer& transfer = all.emplace_back(Transfer{from.device, to.device, patch});
            transfer.packed = patch.end - patch.first > problem.halo();
            if (!transfer.packed) continue;
            transfer.landing = landing;
            landing += (patch.end - patch.first) * (patch.right - patch.left) * problem.unit();
          }
        }
      }
    }
  }
  return all;
}

// A share has at most four edges from layer to layer: of its first column, of its last, and of the
// whole ones between them. Where layers are periodic, both ends of each may come in one piece.
std::uint64_t most_landing(const Problem& problem) {
  return 8 * problem.halo() * (problem.layers() + 2 * problem.halo()) * problem.unit();
}

}  // namespace mgpu::stencil
