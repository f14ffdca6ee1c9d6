// Points at which the requested precision cannot hold the matrix; they are refused before anything
// is computed.
#pragma once

#include <string>

#include "suites/fisher/problem.hpp"

namespace mgpu::fisher {

// Checks points from a file; `input` has them as in the problem. Returns an empty text if the
// precision holds all their matrices, otherwise a message about the first point that is beyond it:
// row, value, reason, and what is expected. Elements must stay below the largest number, with a
// margin of about 4, and intermediate results in the range of normal numbers. Elements that are too
// small become zero, which is right to within the smallest normal number and no reason to refuse.
// Free categorical: what the probabilities leave of 1 must be more than the roundings of their sum.
std::string beyond_precision(const Problem& problem, std::span<const std::byte> input,
                             const std::string& file);

}  // namespace mgpu::fisher
