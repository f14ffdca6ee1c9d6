// Evaluation of the network on the host in fp64, without derivatives.
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

// Evaluates the network at several places at once. It has its own buffers, so each thread needs
// one. It is fastest with about a hundred places, which share the reads of a layer's weights.
class Evaluation {
 public:
  Evaluation(const Network& network, std::size_t most_places);
  // Computes values[i] at places[i], for at most `most_places` places. The parameters are laid out
  // as in Network.
  void evaluate(const double* parameters, std::span<const Place> places, double* values);

 private:
  void hidden_layer(const double* weights, std::size_t places);

  const Network network_;
  std::vector<double> now_, next_;  // a row of all places per neuron
};

inline std::vector<double> widened(std::span<const float> values) {
  return {values.begin(), values.end()};
}

// Applies the hard constraints to the network's value at a place; returns the solution's
// approximation there.
double constrained(const Problem& problem, const Place& place, double value);

}  // namespace mgpu::pinn
