// A plain training on the host, which shares no code with the kernels: it follows the path of each
// output on its own, where kernels add up what reaches a neuron.
#pragma once

#include <span>
#include <vector>

#include "suites/tropical/network.hpp"

namespace mgpu::tropical {

// Returns the outputs for one sample.
std::vector<float> outputs_of(const Network& network, std::span<const float> weights,
                              std::span<const float> inputs);

struct Samples {
  std::span<const float> inputs, targets;  // a row per sample
};

// Makes a step: changes the weights and returns the loss, in units of `loss_unit`.
std::uint64_t train_step(const Network& network, const Samples& samples, std::uint32_t step,
                         std::vector<float>& weights, unsigned threads);

}  // namespace mgpu::tropical
