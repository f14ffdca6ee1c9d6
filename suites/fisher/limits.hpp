// Points at which the precision asked for cannot hold the matrix: refused before anything is
// computed.
#pragma once

#include <string>

#include "suites/fisher/problem.hpp"

namespace mgpu::fisher {

// Of points from a file, `input` as the problem has them; empty: it holds all of them. Else the
// first that it does not, for a person: row, value, why, and what is accepted. Elements must stay
// below the largest number, which is asked with a margin of 4 or so, and intermediate results in
// the range of normal numbers. Elements that are too small become zero, right to within the
// smallest normal number, and are no reason. Free categorical: what the probabilities leave of 1
// must be more than the roundings of their sum.
std::string beyond_precision(const Problem& problem, std::span<const std::byte> input,
                             const std::string& file);

}  // namespace mgpu::fisher
