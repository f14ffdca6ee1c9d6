// Layout of a network's parameters, and their initial values.
#pragma once

#include <cstdint>
#include <span>

#include "lib/base/units.hpp"

namespace mgpu::pinn {

// A network with two inputs, `layers` hidden layers of `width` neurons, and one output. Order of
// the parameters: the weights of both inputs (a row of `width` each) and the biases of the first
// layer; for every other layer a row of weights per neuron of the layer below, then its biases; the
// weights of the output, then its bias.
struct Network {
  std::uint64_t layers = 0, width = 0;

  std::uint64_t of_layer() const { return width * width + width; }
  // Returns the offset of hidden layer `layer`, from 1 on; layer 0 begins at 0.
  std::uint64_t hidden(std::uint64_t layer) const { return 3 * width + (layer - 1) * of_layer(); }
  std::uint64_t output() const { return hidden(layers); }
  std::uint64_t count() const { return output() + width + 1; }
  // Returns the size of a shard's gradient followed by its losses, rounded up to units of 16 bytes.
  std::uint64_t stride() const { return (count() + 3 + 3) / 4 * 4; }
};

// Fills in seeded initial values: normal numbers of variance 2 / (inputs + outputs) of each layer
// (Glorot, Bengio 2010), and biases 0.
void fill_initial(const Network& network, std::uint64_t seed, std::span<float> parameters);

// Both copy parameters: widen() into those of a wider network, whose other weights are 0 and stay
// 0; narrow() back.
void widen(const Network& network, const Network& wide, const float* from, float* to);
void narrow(const Network& network, const Network& wide, const float* from, float* to);

}  // namespace mgpu::pinn
