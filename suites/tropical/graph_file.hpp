// Graphs in files: DIMACS shortest-path files (.gr,
// http://www.diag.uniroma1.it/challenge9/format.shtml), coordinate Matrix Market files
// (.mtx, https://math.nist.gov/MatrixMarket/formats.html), and square matrices of weights (.npy).
#pragma once

#include <filesystem>
#include <span>

#include "suites/tropical/problem.hpp"

namespace mgpu::tropical {

// How many vertices the file says. Throws Error(input), naming the file, the line and what is
// accepted.
std::uint64_t vertices_of_file(const std::filesystem::path& file, const Problem& problem);

// The weights, row by row: entry (u, v) is that of the edge from u to v, the best of several,
// nothing<Number>() where there is none. `weights` has n x n. Throws Error(input), also for a
// weight that Number does not hold.
template <class Number>
void read_graph(const std::filesystem::path& file, const Problem& problem,
                std::span<Number> weights);

}  // namespace mgpu::tropical
