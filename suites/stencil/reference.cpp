// Compiled without contraction (suites/CMakeLists.txt): a fused multiply-add would have other bits.
#include "suites/stencil/reference.hpp"

#include <utility>

#include "lib/workload/parallel_for.hpp"

namespace mgpu::stencil {
namespace {

void jacobi_row(const Problem& problem, const std::vector<float>& from, std::vector<float>& to, std::uint64_t row) {
  const std::uint64_t n = problem.n, north = (row + n - 1) % n * n, south = (row + 1) % n * n, here = row * n;
  to[here] = from[here];
  to[here + n - 1] = from[here + n - 1];
  for (std::uint64_t x = 1; x + 1 < n; ++x)
    to[here + x] = (((from[here + x - 1] + from[here + x + 1]) + from[north + x]) + from[south + x]) * 0.25F;
}

void heat_plane(const Problem& problem, const std::vector<float>& from, std::vector<float>& to, std::uint64_t z) {
  const std::uint64_t n = problem.n, plane = n * n;
  for (std::uint64_t y = 0; y < n; ++y) {
    for (std::uint64_t x = 0; x < n; ++x) {
      const std::uint64_t at = z * plane + y * n + x;
      const bool fixed = x == 0 || y == 0 || z == 0 || x + 1 == n || y + 1 == n || z + 1 == n;
      if (fixed) {
        to[at] = from[at];
        continue;
      }
      const float around = ((((from[at - 1] + from[at + 1]) + from[at - n]) + from[at + n]) + from[at - plane]) + from[at + plane];
      to[at] = problem.rate * (around - 6.0F * from[at]) + from[at];
    }
  }
}

}  // namespace

std::vector<float> reference(const Problem& problem, std::span<const float> initial, unsigned threads) {
  std::vector<float> from(initial.begin(), initial.end()), to(from.size());
  constexpr std::uint64_t rows_at_once = 64;
  const std::uint64_t layers = problem.layers(), at_once = problem.kind == Kind::jacobi2d ? rows_at_once : 1;
  for (std::uint32_t step = 0; step < problem.steps; ++step) {
    parallel_for((layers + at_once - 1) / at_once, threads, [&](std::uint64_t part) {
      for (std::uint64_t i = part * at_once; i < std::min(layers, (part + 1) * at_once); ++i) {
        if (problem.kind == Kind::jacobi2d) {
          jacobi_row(problem, from, to, i);
        } else {
          heat_plane(problem, from, to, i);
        }
      }
    });
    std::swap(from, to);
  }
  return from;
}

}  // namespace mgpu::stencil
