// The network on the host, in fp64: its value, and nothing else.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "suites/pinn/network.hpp"
#include "suites/pinn/problem.hpp"

namespace mgpu::pinn {

struct Place {
  double x = 0, y = 0;
};

// Values at some places at once, with room of its own for layers; for one thread. Fastest with a
// hundred places or so, which read a layer's weights together.
class Evaluation {
 public:
  Evaluation(const Network& network, std::size_t most_places);
  // values[i] at places[i], as many as were announced at most; parameters as Network has them.
  void evaluate(const double* parameters, std::span<const Place> places, double* values);

 private:
  void hidden_layer(const double* weights, std::size_t places);

  const Network network_;
  std::vector<double> now_, next_;  // of each neuron a row of all places
};

inline std::vector<double> widened(std::span<const float> values) {
  return {values.begin(), values.end()};
}

// What solves the equation at a place, of the network's value there.
double constrained(const Problem& problem, const Place& place, double value);

}  // namespace mgpu::pinn
