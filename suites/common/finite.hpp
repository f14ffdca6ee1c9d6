// NaN and infinities among the values of an input: refused where no result could be judged, else
// told before anything is measured.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "lib/workload/npy.hpp"

namespace mgpu {

// Says how many values of float32 or float64, in rows of shape.columns, are no finite numbers, and
// where the first is. Empty: all are finite.
std::string told_non_finite(const std::string& input, const NpyShape& shape,
                            std::span<const std::byte> values);

// The same as a caveat of results.
std::string non_finite_caveat(const std::string& input, const NpyShape& shape,
                              std::span<const std::byte> values);

// Throws Error(input) where a value is no finite number.
void refuse_non_finite(const std::string& input, const NpyShape& shape,
                       std::span<const std::byte> values);

}  // namespace mgpu
