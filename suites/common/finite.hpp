// NaN and infinities among input values: an error if no result could be verified, otherwise a
// caveat that is printed before anything is measured.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "lib/workload/npy.hpp"

namespace mgpu {

// Returns a message that says how many values of float32 or float64, in rows of shape.columns, are
// not finite, and where the first is. Empty if all are finite.
std::string told_non_finite(const std::string& input, const NpyShape& shape,
                            std::span<const std::byte> values);

// Returns the same message as a caveat of results.
std::string non_finite_caveat(const std::string& input, const NpyShape& shape,
                              std::span<const std::byte> values);

// Throws Error(input) if a value is not finite.
void refuse_non_finite(const std::string& input, const NpyShape& shape,
                       std::span<const std::byte> values);

}  // namespace mgpu
