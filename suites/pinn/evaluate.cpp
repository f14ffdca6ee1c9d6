#include "suites/pinn/evaluate.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace mgpu::pinn {

namespace {

constexpr std::size_t kAcross = 8, kNeurons = 4;  // places and neurons with their sums in registers

constexpr std::size_t whole_blocks(std::size_t places) { return round_up(places, kAcross); }

// Computes neurons n .. n + count - 1 of a layer of `width` at kAcross places. Rows are `row`
// numbers apart.
template <std::size_t count>
void sums(const double* weights, std::size_t width, std::size_t n, const double* from, double* to,
          std::size_t row) {
  double sum[count][kAcross] = {};
  for (std::size_t k = 0; k < width; ++k) {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < count; ++i) {
      const double weight = weights[k * width + n + i];
#pragma GCC unroll 8
      for (std::size_t p = 0; p < kAcross; ++p) sum[i][p] += weight * from[k * row + p];
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    const double bias = weights[width * width + n + i];
    for (std::size_t p = 0; p < kAcross; ++p) to[(n + i) * row + p] = std::tanh(sum[i][p] + bias);
  }
}

}  // namespace

Evaluation::Evaluation(const Network& network, std::size_t most_places)
    : network_(network), now_(network.width * whole_blocks(most_places)), next_(now_.size()) {}

void Evaluation::hidden_layer(const double* weights, std::size_t places) {
  const std::size_t w = network_.width;
  for (std::size_t p = 0; p < places; p += kAcross) {
    std::size_t n = 0;
    for (; n + kNeurons <= w; n += kNeurons)
      sums<kNeurons>(weights, w, n, now_.data() + p, next_.data() + p, places);
    for (; n < w; ++n) sums<1>(weights, w, n, now_.data() + p, next_.data() + p, places);
  }
  std::swap(now_, next_);
}

void Evaluation::evaluate(const double* parameters, std::span<const Place> places, double* values) {
  const std::size_t w = network_.width, count = whole_blocks(places.size());
  for (std::size_t n = 0; n < w; ++n) {
    double* const row = now_.data() + n * count;
    for (std::size_t i = 0; i < places.size(); ++i)
      row[i] = std::tanh(parameters[n] * places[i].x + parameters[w + n] * places[i].y +
                         parameters[2 * w + n]);
    std::fill(row + places.size(), row + count, 0.0);
  }
  for (std::size_t layer = 1; layer < network_.layers; ++layer)
    hidden_layer(parameters + network_.hidden(layer), count);
  const double* const output = parameters + network_.output();
  std::fill_n(values, places.size(), output[w]);
  for (std::size_t n = 0; n < w; ++n)
    for (std::size_t i = 0; i < places.size(); ++i) values[i] += output[n] * now_[n * count + i];
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
