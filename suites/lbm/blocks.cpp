#include <bit>

#include "suites/lbm/lattice.hpp"

namespace mgpu::lbm {
namespace {

// A direction along y and z, and the populations that move that way (kernels/lbm.cl).
struct Direction {
  int y, z;
  std::uint32_t which;
};
constexpr std::uint32_t bits(std::initializer_list<unsigned> all) {
  std::uint32_t which = 0;
  for (const unsigned q : all) which |= 1U << q;
  return which;
}
constexpr Direction kDirections[] = {{1, 0, bits({3, 5, 8})},   {-1, 0, bits({4, 6, 7})},
                                     {0, 1, bits({9, 10, 11})}, {0, -1, bits({14, 15, 16})},
                                     {1, 1, bits({12})},        {-1, 1, bits({13})},
                                     {-1, -1, bits({17})},      {1, -1, bits({18})}};

// Appends the sources of what moves in a direction to the cells of a patch. Beyond a periodic end,
// sources continue at the other end.
void add_sources(const Problem& problem, const Patch& patch, const Direction& direction,
                 std::vector<std::pair<Patch, std::uint32_t>>& all) {
  const auto moved = [](std::uint64_t first, std::uint64_t end, int by, std::uint64_t n,
                        bool periodic) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> parts;
    if (by == 0) return parts = {{first, end}}, parts;
    if (by > 0) {  // comes from the cell before
      parts.emplace_back(first - std::min<std::uint64_t>(first, 1), end - 1);
      if (first == 0 && periodic) parts.emplace_back(n - 1, n);
    } else {
      parts.emplace_back(first + 1, std::min(end + 1, n));
      if (end == n && periodic) parts.emplace_back(0, 1);
    }
    return parts;
  };
  for (const auto& [first, end] : moved(patch.first, patch.end, direction.z, problem.planes, true))
    for (const auto& [left, right] :
         moved(patch.left, patch.right, direction.y, problem.n, !problem.has_walls_y()))
      all.push_back({{first, end, left, right}, direction.which});
}

}  // namespace

std::vector<Transfer> transfers_among(const Problem& problem, std::span<const Owner> owners) {
  const auto wanted = [&](const Patch& patch) {
    std::vector<std::pair<Patch, std::uint32_t>> all;
    for (const Direction& direction : kDirections) add_sources(problem, patch, direction, all);
    return all;
  };
  return mgpu::transfers_among(problem.pieces(), owners, wanted, [&](const Transfer& transfer) {
    const Patch& patch = transfer.patch;
    return (patch.end - patch.first) * (patch.right - patch.left) * problem.n *
           static_cast<std::uint64_t>(std::popcount(transfer.which));
  });
}

}  // namespace mgpu::lbm
