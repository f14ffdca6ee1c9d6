#include "suites/pac/series_file.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/workload/npy.hpp"
#include "lib/workload/parallel_for.hpp"

namespace mgpu::pac {
namespace {

bool is_npy(const std::filesystem::path& file) { return file.extension() == ".npy"; }

Error bad(const std::filesystem::path& file, const std::string& why) {
  return Error(ErrorKind::input, "--input " + file.string() + ": " + why);
}

// Compares a value of the file with the option of the same name, if that is given.
void check_same(const std::filesystem::path& file, const SuiteParams& params,
                const std::string& option, std::uint64_t count) {
  const std::string& given = params.options.at(option);
  if (given == "auto" || given == std::to_string(count)) return;
  throw bad(file, "its " + option + (option == "channels" ? " are " : " is ") +
                      std::to_string(count) + ", not the " + given + " of --" + option +
                      "; expected: the file's, or --" + option + " auto");
}

SeriesShape shape_of_raw(const std::filesystem::path& file, const SuiteParams& params) {
  SeriesShape shape;
  for (const auto& [option, to] :
       {std::pair{"channels", &shape.channels}, std::pair{"length", &shape.samples}}) {
    const std::string& text = params.options.at(option);
    if (text == "auto" || text == "0")
      throw bad(file, std::string("raw numbers do not say their --") + option +
                          "; expected: --channels and --length, or a .npy file");
    *to = std::stoull(text);
  }
  std::error_code error;
  const Bytes size = std::filesystem::file_size(file, error);
  constexpr std::uint64_t most = std::uint64_t{1} << 28;
  const Bytes entry = shape.channels > most || shape.samples > most
                          ? 0
                          : shape.channels * shape.samples * sizeof(float);
  if (error || entry == 0 || size == 0 || size % entry != 0)
    throw bad(file, "it has " + std::to_string(size) + " bytes; expected: a multiple of " +
                        std::to_string(entry) + ", float32 of " + std::to_string(shape.channels) +
                        " channels of " + std::to_string(shape.samples) + " samples");
  shape.batch = size / entry;
  return shape;
}

// Copies a series without its mean, scaled by the power of two that brings the largest value to
// between 1 and 2. No index depends on this, and squares and float64 inputs stay within the range
// of fp32. A series that differs from its mean only by rounding errors becomes constant.
template <class Real>
void copy_centred(const Real* from, std::span<float> to) {
  double sum = 0, largest = 0, away = 0;
  for (std::size_t t = 0; t < to.size(); ++t)
    sum += static_cast<double>(from[t]) / static_cast<double>(to.size());
  for (std::size_t t = 0; t < to.size(); ++t) {
    const auto x = static_cast<double>(from[t]);
    largest = std::max(largest, std::abs(x));
    away = std::max(away, std::abs(x - sum));
  }
  const int down = away > 1e-12 * largest ? -std::ilogb(away) : 0;
  for (std::size_t t = 0; t < to.size(); ++t)
    to[t] = away > 1e-12 * largest
                ? static_cast<float>(std::ldexp(static_cast<double>(from[t]) - sum, down))
                : 0.0f;
}

template <class Real>
bool all_finite(const Real* from, std::size_t count) {
  return std::all_of(from, from + count,
                     [](Real x) { return std::isfinite(x) && std::abs(x) < 1e300; });
}

// Reads the numbers unchanged, `element` bytes each.
void read_all(const std::filesystem::path& file, const SeriesShape& shape, Bytes element,
              std::span<std::byte> bytes) {
  if (is_npy(file)) {
    read_npy(file, {shape.series(), shape.samples, element}, bytes);
    return;
  }
  std::ifstream in(file, std::ios::binary);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!in) throw bad(file, "cannot be read to its end");
}

}  // namespace

SeriesShape shape_of_series(const std::filesystem::path& file, const SuiteParams& params) {
  if (!is_npy(file)) return shape_of_raw(file, params);
  const NpyArray array = read_npy_array(file);
  SeriesShape shape;
  const std::size_t n = array.extents.size();
  shape.samples = array.extents[n - 1];
  if (n > 1) shape.channels = array.extents[n - 2];
  if (n > 2) shape.batch = array.extents[0];
  if (shape.series() == 0) throw bad(file, "it has no series; expected: one or more");
  check_same(file, params, "channels", shape.channels);
  check_same(file, params, "length", shape.samples);
  return shape;
}

void read_series(const std::filesystem::path& file, const SeriesShape& shape, std::span<float> to,
                 unsigned threads) {
  const Bytes element = is_npy(file) ? read_npy_array(file).element : sizeof(float);
  std::vector<std::byte> wide(element == sizeof(double) ? to.size() * element : 0);
  const std::span<std::byte> bytes =
      wide.empty() ? std::as_writable_bytes(to) : std::span<std::byte>(wide);
  read_all(file, shape, element, bytes);
  parallel_for(shape.series(), threads, [&](std::uint64_t i) {
    const std::span<float> series = to.subspan(i * shape.samples, shape.samples);
    const auto* const doubles =
        reinterpret_cast<const double*>(wide.data()) + (wide.empty() ? 0 : i * shape.samples);
    if (!(wide.empty() ? all_finite(series.data(), series.size())
                       : all_finite(doubles, series.size())))
      throw bad(file, "series " + std::to_string(i) +
                          " has a number that is not finite; expected: finite numbers below 1e300");
    if (wide.empty()) {
      copy_centred(series.data(), series);
    } else {
      copy_centred(doubles, series);
    }
  });
}

}  // namespace mgpu::pac
