#include "suites/pinn/network.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lib/workload/splitmix64.hpp"

namespace mgpu::pinn {
namespace {

// Returns number n of a seeded sequence of normal numbers (Box, Muller 1958).
double normal(std::uint64_t seed, std::uint64_t n) {
  const auto uniform = [&](std::uint64_t at) {
    return (static_cast<double>(splitmix64(seed, at) >> 11) + 0.5) * 0x1p-53;
  };
  return std::sqrt(-2 * std::log(uniform(2 * n))) *
         std::cos(2 * std::numbers::pi * uniform(2 * n + 1));
}

// Calls `run` with each range of parameters that is contiguous in both networks: both offsets and
// the length.
template <class Run>
void for_runs(const Network& network, const Network& wide, const Run& run) {
  for (std::uint64_t row = 0; row < 3; ++row)
    run(row * network.width, row * wide.width, network.width);
  for (std::uint64_t layer = 1; layer < network.layers; ++layer) {
    for (std::uint64_t k = 0; k <= network.width; ++k)  // the last row has the biases
      run(network.hidden(layer) + k * network.width,
          wide.hidden(layer) + (k < network.width ? k : wide.width) * wide.width, network.width);
  }
  run(network.output(), wide.output(), network.width);
  run(network.output() + network.width, wide.output() + wide.width, 1);
}

}  // namespace

void fill_initial(const Network& network, std::uint64_t seed, std::span<float> parameters) {
  std::fill(parameters.begin(), parameters.end(), 0.0F);
  const std::uint64_t w = network.width, of_weights = seed ^ 0x9d39247e33776d41U;
  std::uint64_t next = 0;
  const auto fill = [&](std::uint64_t at, std::uint64_t count, std::uint64_t around) {
    const double deviation = std::sqrt(2.0 / static_cast<double>(around));
    for (std::uint64_t i = 0; i < count; ++i)
      parameters[at + i] = static_cast<float>(deviation * normal(of_weights, next++));
  };
  fill(0, 2 * w, 2 + w);
  for (std::uint64_t layer = 1; layer < network.layers; ++layer)
    fill(network.hidden(layer), w * w, 2 * w);
  fill(network.output(), w, w + 1);
}

void widen(const Network& network, const Network& wide, const float* from, float* to) {
  std::fill_n(to, wide.count(), 0.0F);
  for_runs(network, wide, [&](auto narrow_at, auto wide_at, auto count) {
    std::copy_n(from + narrow_at, count, to + wide_at);
  });
}

void narrow(const Network& network, const Network& wide, const float* from, float* to) {
  for_runs(network, wide, [&](auto narrow_at, auto wide_at, auto count) {
    std::copy_n(from + wide_at, count, to + narrow_at);
  });
}

}  // namespace mgpu::pinn
