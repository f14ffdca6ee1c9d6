// Series from a file: .npy of (batch, channels, samples), (channels, samples) or (samples), or raw
// float32.
#pragma once

#include <filesystem>
#include <span>

#include "lib/workload/workload.hpp"

namespace mgpu::pac {

struct SeriesShape {
  std::uint64_t batch = 1, channels = 1, samples = 0;
  std::uint64_t series() const { return batch * channels; }
};

// Of a file whose name ends in .npy what its header says, of others what --channels and --length
// say. Throws Error(input).
SeriesShape shape_of_series(const std::filesystem::path& file, const SuiteParams& params);

// Into `to`, series by series, each without its mean, as no band passes it and beside a large one
// fp32 has few digits left for the rest, and times a power of two. Throws Error(input): the file
// cannot be read, or has a number that is not finite.
void read_series(const std::filesystem::path& file, const SeriesShape& shape, std::span<float> to,
                 unsigned threads);

}  // namespace mgpu::pac
