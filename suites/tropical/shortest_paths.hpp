// The independent reference of shortest paths, on the host in fp64: Bellman-Ford for cycles,
// Dijkstra for lengths. In max-plus lengths have the other sign. Shares no code with the kernels.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "suites/tropical/product_reference.hpp"

namespace mgpu::tropical {

// A potential of each vertex, so that no edge w(u, v) + p(u) - p(v) is below zero (Johnson 1977);
// zeros where none is anyway. Throws Error(input) that names a cycle which gains, where there is
// one: paths then have no best length.
template <class Number>
std::vector<double> potentials_of(const Problem& problem, std::span<const Number> weights);

// What came back.
template <class Number>
struct Lengths {
  std::span<const Number> weights, lengths;  // n x n
  std::span<const std::int32_t> before;      // likewise, or empty
};
// Lengths from a few vertices, or in `whole` from all or more of them, and the paths that lead
// there. Where weights are integers whose sums fp32 holds, bit for bit, else within the roundings
// of a path's edges.
template <class Number>
Finding check_paths(const Problem& problem, const Lengths<Number>& found,
                    std::span<const double> potentials, bool whole, std::uint64_t seed,
                    unsigned threads);

// "; route 0 -> 5: 0 3 5, length 7", by problem.route.
template <class Number>
std::string route_text(const Problem& problem, const Lengths<Number>& found);

}  // namespace mgpu::tropical
