#include "suites/tropical/network_reference.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "lib/workload/parallel_for.hpp"

namespace mgpu::tropical {
namespace {

// Outputs of every layer, and the input that each of them comes from.
struct Passed {
  std::vector<float> outputs;
  std::vector<std::vector<std::uint32_t>> from;
};

Passed pass(const Network& network, std::span<const float> weights, std::span<const float> inputs) {
  Passed passed{{inputs.begin(), inputs.end()}, {}};
  for (std::uint32_t l = 0; l < network.layers; ++l) {
    std::vector<float> next;
    std::vector<std::uint32_t> from;
    for (std::uint32_t i = 0; i < network.width; ++i) {
      std::vector<float> sums;
      for (std::uint32_t j = 0; j < network.width; ++j)
        sums.push_back(passed.outputs[j] +
                       weights[(std::size_t{l} * network.width + j) * network.width + i]);
      const auto best = network.is_maximum(l) ? std::max_element(sums.begin(), sums.end())
                                              : std::min_element(sums.begin(), sums.end());
      next.push_back(*best);
      from.push_back(static_cast<std::uint32_t>(best - sums.begin()));
    }
    passed.outputs = std::move(next);
    passed.from.push_back(std::move(from));
  }
  return passed;
}

// What a part of the samples adds to the gradient and the loss.
struct Part {
  std::vector<std::int64_t> gradient;
  std::uint64_t loss = 0;
};

void add_sample(const Network& network, std::span<const float> weights,
                std::span<const float> inputs, std::span<const float> targets, Part& part) {
  const Passed passed = pass(network, weights, inputs);
  for (std::uint32_t output = 0; output < network.width; ++output) {
    const float error = passed.outputs[output] - targets[output];
    part.loss += static_cast<std::uint64_t>(
        std::nearbyint(std::min(std::fabs(static_cast<double>(error)), 2048.0) / loss_unit));
    if (error == 0) continue;
    std::uint32_t neuron = output;
    for (std::uint32_t l = network.layers; l-- > 0;) {
      const std::uint32_t before = passed.from[l][neuron];
      part.gradient[(std::size_t{l} * network.width + before) * network.width + neuron] +=
          error > 0 ? 1 : -1;
      neuron = before;
    }
  }
}

}  // namespace

std::vector<float> outputs_of(const Network& network, std::span<const float> weights,
                              std::span<const float> inputs) {
  return pass(network, weights, inputs).outputs;
}

std::uint64_t train_step(const Network& network, const Samples& samples, std::uint32_t step,
                         std::vector<float>& weights, unsigned threads) {
  constexpr std::uint64_t at_once = 64;
  const std::size_t width = network.width;
  Part all{std::vector<std::int64_t>(weights.size()), 0};
  std::mutex mutex;
  parallel_for((network.samples + at_once - 1) / at_once, threads, [&](std::uint64_t n) {
    Part part{std::vector<std::int64_t>(weights.size()), 0};
    for (std::uint64_t s = n * at_once; s < std::min((n + 1) * at_once, network.samples); ++s)
      add_sample(network, weights, samples.inputs.subspan(s * width, width),
                 samples.targets.subspan(s * width, width), part);
    const std::scoped_lock lock(mutex);
    all.loss += part.loss;
    for (std::size_t i = 0; i < weights.size(); ++i) all.gradient[i] += part.gradient[i];
  });
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = std::fma(-network.scale(step), static_cast<float>(all.gradient[i]), weights[i]);
  return all.loss;
}

}  // namespace mgpu::tropical
