// Where the weights of a network are among its parameters, and what they begin with.
#pragma once

#include <cstdint>
#include <span>

#include "lib/base/units.hpp"

namespace mgpu::pinn {

// Two inputs, `layers` hidden layers of `width` neurons, one output. Parameters: the weights of
// both inputs (a row of `width` each) and the biases of the first layer; of every other layer a row
// of weights for each neuron of the layer below, then its biases; the weights of the output, then
// its bias.
struct Network {
  std::uint64_t layers = 0, width = 0;

  std::uint64_t of_layer() const { return width * width + width; }
  std::uint64_t hidden(std::uint64_t layer) const {
    return 3 * width + (layer - 1) * of_layer();
  }  // from layer 1 on, of 0, 1, ...
  std::uint64_t output() const { return hidden(layers); }
  std::uint64_t count() const { return output() + width + 1; }
  // Of a shard's gradient, with its losses behind it, in units of 16 bytes.
  std::uint64_t stride() const { return (count() + 3 + 3) / 4 * 4; }
};

// Seeded: normal numbers of variance 2 / (inputs + outputs) of each layer (Glorot, Bengio 2010),
// biases 0.
void fill_initial(const Network& network, std::uint64_t seed, std::span<float> parameters);

// The parameters of a network in those of a wider one, whose other weights are 0 and stay 0; and
// back.
void widen(const Network& network, const Network& wide, const float* from, float* to);
void narrow(const Network& network, const Network& wide, const float* from, float* to);

}  // namespace mgpu::pinn
