#include "suites/pac/recordings.hpp"

#include <algorithm>
#include <numeric>

#include "lib/base/error.hpp"
#include "lib/workload/npy.hpp"
#include "lib/workload/splitmix64.hpp"

namespace mgpu::pac {

Recordings::Recordings(const std::filesystem::path& folder, const SuiteParams& params) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().extension() == ".npy") files_.push_back(entry.path());
  if (error || files_.empty())
    throw Error(ErrorKind::input, "--input " + folder.string() +
                                      ": no recordings; expected: a folder with .npy files");
  std::sort(files_.begin(), files_.end());
  for (const std::filesystem::path& file : files_) {
    const SeriesShape one = shape_of_series(file, params);
    if (shape_.samples == 0) shape_ = one;
    if (one.batch == 1 && one.channels == shape_.channels && one.samples == shape_.samples)
      continue;
    throw Error(ErrorKind::input,
                "--input " + file.string() + ": its shape is (" + std::to_string(one.batch) + ", " +
                    std::to_string(one.channels) + ", " + std::to_string(one.samples) +
                    "); expected: one recording, (" + std::to_string(shape_.channels) + ", " +
                    std::to_string(shape_.samples) + ") as " + files_.front().filename().string());
  }
  shape_.batch = files_.size();
}

void Recordings::read(std::uint64_t recording, std::span<float> to) const {
  read_series(files_.at(recording), {1, shape_.channels, shape_.samples}, to, 1);
}

std::shared_ptr<Recordings> recordings_of(const SuiteParams& params) {
  if (auto listed = std::dynamic_pointer_cast<Recordings>(params.input_data)) return listed;
  std::error_code ignored;
  if (!params.input || !std::filesystem::is_directory(*params.input, ignored)) return nullptr;
  return std::make_shared<Recordings>(*params.input, params);
}

std::vector<std::uint32_t> order_of(std::uint64_t recordings,
                                    std::optional<std::uint64_t> shuffle) {
  std::vector<std::uint32_t> order(recordings);
  std::iota(order.begin(), order.end(), 0);
  if (!shuffle) return order;
  for (std::uint64_t i = recordings; i > 1; --i)
    std::swap(order[i - 1], order[splitmix64(*shuffle, i) % i]);
  return order;
}

}  // namespace mgpu::pac
