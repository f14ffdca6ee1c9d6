// Series from a file: .npy of shape (batch, channels, samples), (channels, samples) or (samples),
// or raw float32.
#pragma once

#include <filesystem>
#include <span>

#include "lib/workload/workload.hpp"

namespace mgpu::pac {

struct SeriesShape {
  std::uint64_t batch = 1, channels = 1, samples = 0;
  std::uint64_t series() const { return batch * channels; }
};

// Returns the shape: from the header of a .npy file, else from --channels and --length. Throws
// Error(input).
SeriesShape shape_of_series(const std::filesystem::path& file, const SuiteParams& params);

// Reads the series into `to`. Each is centred, since no band passes its mean and a large mean would
// cost fp32 precision, and scaled by a power of two. Throws Error(input) if the file cannot be read
// or has a non-finite number.
void read_series(const std::filesystem::path& file, const SeriesShape& shape, std::span<float> to,
                 unsigned threads);

}  // namespace mgpu::pac
