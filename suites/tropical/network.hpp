// A network of tropical layers, and the data that it learns. Output i of a layer is the best of the
// sums of an input j and the weight from j to i. The best is the largest in max-plus, the smallest
// in min-plus; layers take turns, as two layers of one semiring would be a single one.
//
// The loss is the sum of the distances between outputs and targets. Its subgradient flows from each
// output along one path, that of the best sums (of equal ones the first input's), so that a
// weight's gradient is an integer: the number of paths through it, by the sign of the error. Sums
// of integers do not depend on their order: a training has the same bits on any number of devices.
#pragma once

#include <span>
#include <vector>

#include "lib/workload/workload.hpp"

namespace mgpu::tropical {

struct Network {
  std::uint64_t samples = 0;
  std::uint32_t layers = 2, width = 64, steps = 100;
  double rate = 0;
  bool maximum = false;  // the first layer's semiring is max-plus
  std::uint64_t seed = 0;

  bool is_maximum(std::uint32_t layer) const { return maximum == (layer % 2 == 0); }
  std::uint64_t of_layer() const { return std::uint64_t{width} * width; }
  std::uint64_t weights() const { return layers * of_layer(); }
  Bytes sample_bytes() const { return samples * width * sizeof(float); }
  // Bytes of the weights after all steps, those before the last, and two words of loss per step.
  Bytes result_bytes() const { return weights() * 8 + Bytes{steps} * 8; }
  // Returns the factor from a weight's gradient to its change in this step: the learning rate per
  // sample, which falls to 0 over the training.
  float scale(std::uint32_t step) const {
    return static_cast<float>(rate * (1.0 - static_cast<double>(step) / steps) /
                              static_cast<double>(samples));
  }
};

// The two words of a loss count 2^-12, at most 2^23 per output: sums of their lower and higher 16
// bits over all samples.
inline constexpr double loss_unit = 1.0 / 4096;
inline constexpr std::uint64_t most_samples = 65536;

// Reads the problem of --op network. Throws Error(usage), Error(input).
Network network_of(const SuiteParams& params);
Shape shape_of(const Network& network);
Bytes host_bytes_of(const Network& network);

// Fills inputs and targets, a row per sample: from --input, or seeded inputs from 0 to 1 and what
// another network makes of them. Throws Error(input).
void fill_samples(const Network& network, const SuiteParams& params, std::span<float> inputs,
                  std::span<float> targets);
// Returns the seeded weights, from -4 to 4: of layer l from neuron j, entry (l width + j) width
// + i is the one to neuron i.
std::vector<float> weights_of(const Network& network, std::uint64_t seed);

}  // namespace mgpu::tropical
