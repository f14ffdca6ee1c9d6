// The problem: series, bands, surrogates, and how the work is divided into items. Pure
// functions.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "lib/workload/workload.hpp"

namespace mgpu::pac {

enum class Axis { batch, channel, permutation };
// Divisor of a bin's summed amplitudes, before bins are compared.
enum class Index {
  tort,  // number of samples in the bin: mean amplitudes as Tort et al. define them
  // Number of samples that all phase bands together have in that bin, as tensorpac does for one
  // epoch.
  tensorpac,
  gpac_sum  // none: sums are compared
};
// How surrogates are computed (kernels/pac_direct.cl, kernels/pac_transform.cl). transform_local
// has all roots in local memory, which leaves registers for more work-groups per multiprocessor.
enum class Method { direct, transform, transform_local };
inline constexpr const char* method_names[] = {"direct", "transform", "transform-local"};
inline constexpr Method all_methods[] = {Method::direct, Method::transform,
                                         Method::transform_local};
inline std::string to_string(Method method) {
  return method_names[static_cast<std::size_t>(method)];
}

// LO:HI:N: N evenly spaced centres from LO to HI. A band's response is one half at a distance of
// `half_width` times its centre.
struct Bands {
  double low = 0, high = 0, half_width = 0;  // Hz, Hz, fraction of the centre
  std::uint64_t count = 0;
  double centre(std::uint64_t band) const {
    return count == 1
               ? (low + high) / 2
               : low + (high - low) * static_cast<double>(band) / static_cast<double>(count - 1);
  }
};
// Fractions of the half width: the response is 1 up to the first, 0 beyond the second, and a cosine
// in between.
inline constexpr double passes_all = 0.75, passes_nothing = 1.25;

// Returns a band's response to a frequency in Hz.
double response(const Bands& bands, std::uint64_t band, double frequency);

struct Problem {
  std::uint64_t batch = 0, channels = 0, samples = 0;
  double fs = 0;  // sampling rate in Hz
  Bands phase, amplitude;
  std::uint64_t surrogates = 0;
  unsigned bins = 18;
  Index index = Index::tort;
  Axis axis = Axis::batch;
  std::optional<Method> method;                     // none: the device's default
  bool planted = false;                             // coupling in seeded series
  double planted_phase = 0, planted_amplitude = 0;  // Hz
  std::uint64_t seed = 0;
  Items at_once = 0;  // entries of the batch that a device takes at once; 0: as many as are fast
  bool in_files = false;                   // series are read from a folder during samples
  std::optional<std::uint64_t> shuffle{};  // seed of the order in which they are

  std::uint64_t series() const { return batch * channels; }
  std::uint64_t pairs() const { return phase.count * amplitude.count; }
  std::uint64_t results() const { return series() * pairs(); }
  Bytes series_bytes() const { return samples * sizeof(float); }
  Bytes input_bytes() const { return series() * series_bytes(); }
  Bytes entry_bytes() const { return channels * series_bytes(); }  // of the batch
  Bytes result_bytes() const;
  bool power_of_two() const { return (samples & (samples - 1)) == 0; }
  Items items() const;
  // Returns how many entries of the batch a device reads at once, if series are in files.
  Items staged() const;
};

// Moments of a series' pair of bands, as in kernels/pac_index.cl, from which its index and its
// surrogates' mean and variance follow.
struct Moments {
  std::uint64_t observed_and_sum = 0, sum_of_squares = 0;
  static constexpr unsigned observed_bit = 39;
  static constexpr double steps = 1 << 24;  // units per 1 of an index
  Moments& operator+=(const Moments& other) {
    observed_and_sum += other.observed_and_sum;
    sum_of_squares += other.sum_of_squares;
    return *this;
  }
};

// The figures reported for a pair. Without surrogates, mean and deviation are 0; without deviation,
// z is 0.
struct Result {
  double index = 0, mean = 0, deviation = 0, z = 0;
};
Result result_of(const Moments& moments, std::uint64_t surrogates);

inline Bytes Problem::result_bytes() const { return results() * sizeof(Moments); }

constexpr std::uint64_t most_series = std::uint64_t{1} << 24, least_samples = 16,
                        most_samples = std::uint64_t{1} << 16, most_bands = 512,
                        most_surrogates = (std::uint64_t{1} << 15) - 1;
constexpr unsigned least_bins = 2, most_bins = 64;
constexpr double least_cycles = 3;  // fewest cycles of the slowest phase in a series

// Reads the problem. Throws Error(usage) for unsupported options or sizes, Error(input) for a file
// that does not match them.
Problem problem_of(const SuiteParams& params);

// Rows of a slice: its series i is row (i / width) * stride + offset + i % width of all series.
struct SeriesRows {
  std::uint64_t count = 0;
  std::uint32_t width = 1, stride = 1, offset = 0;
};
SeriesRows rows_of(const Problem& problem, const Slice& slice);

}  // namespace mgpu::pac
