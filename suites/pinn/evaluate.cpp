#include "suites/pinn/evaluate.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace mgpu::pinn {

Evaluation::Evaluation(const Network& network, std::size_t most_places)
    : network_(network), now_(network.width * most_places), next_(network.width * most_places) {}

void Evaluation::evaluate(const double* parameters, std::span<const Place> places, double* values) {
  const std::size_t w = network_.width;
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (std::size_t n = 0; n < w; ++n)
      now_[i * w + n] = std::tanh(parameters[n] * places[i].x + parameters[w + n] * places[i].y + parameters[2 * w + n]);
  }
  for (std::size_t layer = 1; layer < network_.layers; ++layer) {
    const double* const weights = parameters + network_.hidden(layer);
    for (std::size_t i = 0; i < places.size(); ++i) {
      double* const to = next_.data() + i * w;
      std::copy_n(weights + w * w, w, to);
      for (std::size_t k = 0; k < w; ++k) {
        const double factor = now_[i * w + k];
        const double* const row = weights + k * w;
        for (std::size_t n = 0; n < w; ++n) to[n] += factor * row[n];
      }
      for (std::size_t n = 0; n < w; ++n) to[n] = std::tanh(to[n]);
    }
    std::swap(now_, next_);
  }
  const double* const output = parameters + network_.output();
  for (std::size_t i = 0; i < places.size(); ++i) {
    values[i] = output[w];
    for (std::size_t n = 0; n < w; ++n) values[i] += output[n] * now_[i * w + n];
  }
}

double constrained(const Problem& problem, const Place& place, double value) {
  if (!problem.hard) return value;
  constexpr double pi = std::numbers::pi;
  const auto [x, y] = place;
  switch (problem.equation) {
    case Equation::burgers:
      return y * (1 - x * x) * value - std::sin(pi * x);
    case Equation::allen_cahn:
      return y * (1 - x * x) * value + x * x * std::cos(pi * x);
    case Equation::helmholtz:
      return (1 - x * x) * (1 - y * y) * value;
    case Equation::poisson:
      break;
  }
  return 16 * x * (1 - x) * y * (1 - y) * value;
}

}  // namespace mgpu::pinn
