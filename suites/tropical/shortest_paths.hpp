// The independent reference of shortest paths, on the host in fp64: Bellman-Ford for cycles,
// Dijkstra for lengths. In max-plus, lengths are negated. It shares no code with the kernels.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "suites/tropical/product_reference.hpp"

namespace mgpu::tropical {

// Returns a potential per vertex such that no edge w(u, v) + p(u) - p(v) is negative (Johnson
// 1977); zeros if no weight is negative. Throws Error(input) that names a negative cycle if there
// is one, since paths then have no best length.
template <class Number>
std::vector<double> potentials_of(const Problem& problem, std::span<const Number> weights);

// Input and result of a device.
template <class Number>
struct Lengths {
  std::span<const Number> weights, lengths;  // n x n
  std::span<const std::int32_t> before;      // n x n, or empty
};
// Checks the lengths from a few vertices, or from more or all if `whole`, and the paths. If weights
// are integers whose sums fp32 represents, the comparison is bit for bit; otherwise it allows the
// rounding errors of a path's edges.
template <class Number>
Finding check_paths(const Problem& problem, const Lengths<Number>& found,
                    std::span<const double> potentials, bool whole, std::uint64_t seed,
                    unsigned threads);

// Returns "; route 0 -> 5: 0 3 5, length 7" for problem.route.
template <class Number>
std::string route_text(const Problem& problem, const Lengths<Number>& found);

}  // namespace mgpu::tropical
