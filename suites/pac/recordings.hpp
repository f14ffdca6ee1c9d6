// A folder of recordings: .npy files of one shape, which are read while others are computed, so
// that all together may be larger than the host's memory.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "suites/pac/series_file.hpp"

namespace mgpu::pac {

class Recordings final : public InputData {
 public:
  // Lists the .npy files of the folder by name. Throws Error(input) if there is none, and for one
  // that is not (channels, samples) or (samples) of the shape of the first.
  Recordings(const std::filesystem::path& folder, const SuiteParams& params);

  const SeriesShape& shape() const { return shape_; }  // `batch`: number of recordings
  // Reads a recording as read_series does. Thread-safe. Throws Error(input).
  void read(std::uint64_t recording, std::span<float> to) const;

 private:
  std::vector<std::filesystem::path> files_;
  SeriesShape shape_;
};

// Returns the recordings if --input names a folder, else null. Throws Error(input).
std::shared_ptr<Recordings> recordings_of(const SuiteParams& params);

// Returns the order in which recordings are handed out: by name, or shuffled by the seed.
std::vector<std::uint32_t> order_of(std::uint64_t recordings, std::optional<std::uint64_t> shuffle);

}  // namespace mgpu::pac
