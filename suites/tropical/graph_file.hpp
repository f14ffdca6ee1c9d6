// Graphs in files: DIMACS shortest-path files (.gr,
// http://www.diag.uniroma1.it/challenge9/format.shtml), Matrix Market files
// (.mtx, https://math.nist.gov/MatrixMarket/formats.html), and square matrices of weights (.npy).
#pragma once

#include <filesystem>
#include <span>

#include "suites/tropical/problem.hpp"

namespace mgpu::tropical {

// Returns the number of vertices of a file. Throws Error(input) that names the file, the line and
// what is expected.
std::uint64_t vertices_of_file(const std::filesystem::path& file, const Problem& problem);

// Reads the n x n weights, row by row: entry (u, v) is the best weight of the edges from u to v, or
// nothing<Number>() if there is none. Throws Error(input), also for a weight that Number cannot
// represent.
template <class Number>
void read_graph(const std::filesystem::path& file, const Problem& problem,
                std::span<Number> weights);

}  // namespace mgpu::tropical
