// Series: made from a seed, or read from a file.
#include "suites/pac/host_data.hpp"

#include <cmath>
#include <numbers>

#include "lib/workload/parallel_for.hpp"
#include "lib/workload/splitmix64.hpp"
#include "suites/common/uniform_element.hpp"
#include "suites/pac/series_file.hpp"

namespace mgpu::pac {
namespace {

std::size_t parts_of(const Problem& problem, std::size_t devices) {
  return problem.axis == Axis::permutation ? devices : 0;
}

// A device has two slices in flight.
std::size_t stages_of(const Problem& problem, std::size_t devices) {
  return problem.in_files ? 2 * devices : 0;
}

Bytes input_bytes_of(const Problem& problem, std::size_t stages) {
  return stages == 0 ? problem.input_bytes() : stages * problem.staged() * problem.entry_bytes();
}

Bytes bytes_of(const Problem& problem, std::size_t devices) {
  return in_pages(input_bytes_of(problem, stages_of(problem, devices))) +
         (parts_of(problem, devices) + 1) * in_pages(problem.result_bytes());
}

// Makes noise with a standard deviation of 1/2. If coupling is planted, adds a slow oscillation
// whose phase wanders by 2.5 radians per second, and a fast one whose amplitude follows the slow
// one. With a regular phase, every circular shift would be coupled as well. As the phase wanders,
// the neighbouring band, which passes everything up to three quarters of its half width, has less
// of the oscillation.
void make_series(const Problem& problem, std::uint64_t number, float* to) {
  const std::uint64_t stream = splitmix64(splitmix64(problem.seed, 1), number);
  const auto uniform = [&](std::uint64_t n) {
    return uniform_element<double>(splitmix64(stream, n), false);
  };
  constexpr double turn = 2 * std::numbers::pi;
  const double step = std::sqrt(3 * 6 / problem.fs), noise = std::sqrt(0.75);
  double slow = turn * uniform(0);
  const double fast = turn * uniform(1);
  for (std::uint64_t t = 0; t < problem.samples; ++t) {
    double x = noise * uniform(2 + 2 * t);
    if (problem.planted) {
      const double carrier =
          fast + turn * problem.planted_amplitude * static_cast<double>(t) / problem.fs;
      x += std::cos(slow) + 0.6 * (1 + std::cos(slow)) * std::cos(carrier);
      slow += turn * problem.planted_phase / problem.fs + step * uniform(3 + 2 * t);
    }
    to[t] = static_cast<float>(x);
  }
}

}  // namespace

Bytes HostData::bytes(const Problem& problem, std::size_t devices) {
  return bytes_of(problem, devices);
}

HostData::HostData(const Problem& problem, const SuiteParams& params)
    : recordings_(recordings_of(params)),
      stages_(stages_of(problem, params.devices)),
      input_size_(input_bytes_of(problem, stages_)),
      result_size_(problem.result_bytes()),
      parts_(parts_of(problem, params.devices)),
      size_(bytes_of(problem, params.devices)),
      pages_(size_, std::to_string(size_) + " bytes of series and results") {
  const std::span<float> series(reinterpret_cast<float*>(pages_.data()),
                                input_size_ / sizeof(float));
  if (recordings_) return;
  if (params.input) {
    read_series(*params.input, {problem.batch, problem.channels, problem.samples}, series,
                params.host_threads);
    return;
  }
  parallel_for(problem.series(), params.host_threads, [&](std::uint64_t i) {
    make_series(problem, i, series.data() + i * problem.samples);
  });
}

}  // namespace mgpu::pac
