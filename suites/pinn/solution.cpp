#include "suites/pinn/solution.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lib/workload/parallel_for.hpp"
#include "suites/pinn/evaluate.hpp"

namespace mgpu::pinn {
namespace {

constexpr double pi = std::numbers::pi;

double at(Range range, std::size_t i, std::size_t count) {
  return range.low +
         (range.high - range.low) * static_cast<double>(i) / static_cast<double>(count - 1);
}

// Computes u = -int sin(pi (x - y)) f dy / int f dy with f = exp(-cos(pi (x - y)) / (2 pi nu) - y^2
// / (4 nu t)). The integrands are smooth and vanish at both ends, so the trapezoidal rule converges
// faster than any power of its step.
double burgers(double nu, double x, double t) {
  if (t <= 0) return -std::sin(pi * x);
  constexpr int half = 500;
  constexpr double step = 0.024;
  const double scale = 2 * std::sqrt(nu * t), depth = 1 / (2 * pi * nu);
  double above = 0, below = 0;
  for (int i = -half; i <= half; ++i) {
    const double z = i * step, y = x - scale * z;
    const double f = std::exp(-depth * (std::cos(pi * y) + 1) - z * z);  // at most 1
    above += std::sin(pi * y) * f;
    below += f;
  }
  return -above / below;
}

// Computes half of the range, since u is symmetric about 0; the slope is 0 there, and u is -1 at 1.
// The interface is 0.02 wide, that is 20 cells.
void allen_cahn(double diffusion, std::vector<double>& values) {
  constexpr std::size_t cells = 1000, steps_a_row = 50;
  constexpr double dx = 1.0 / cells, dt = 1.0 / ((Solution::rows - 1) * steps_a_row);
  std::vector<double> u(cells + 1), k(cells + 1), stage(cells + 1), sum(cells + 1);
  const auto slope = [&](const std::vector<double>& of) {
    for (std::size_t i = 0; i < cells; ++i) {
      const double left = of[i == 0 ? 1 : i - 1];
      k[i] = diffusion * (left + of[i + 1] - 2 * of[i]) / (dx * dx) -
             5 * (of[i] * of[i] * of[i] - of[i]);
    }
    k[cells] = 0;
  };
  for (std::size_t i = 0; i <= cells; ++i)
    u[i] = static_cast<double>(i * i) * dx * dx * std::cos(pi * static_cast<double>(i) * dx);
  for (std::size_t row = 0; row < Solution::rows; ++row) {
    constexpr std::size_t middle = (Solution::columns - 1) / 2;
    for (std::size_t c = 0; c < Solution::columns; ++c) {
      const std::size_t away = c > middle ? c - middle : middle - c;
      values[row * Solution::columns + c] = u[away * cells / middle];
    }
    for (std::size_t s = 0; s < steps_a_row; ++s) {
      sum = u;
      stage = u;
      for (const auto& [weight, next] :
           {std::pair{1 / 6.0, 0.5}, {1 / 3.0, 0.5}, {1 / 3.0, 1.0}, {1 / 6.0, 0.0}}) {
        slope(stage);
        for (std::size_t i = 0; i <= cells; ++i) {
          sum[i] += dt * weight * k[i];
          stage[i] = u[i] + dt * next * k[i];
        }
      }
      u = sum;
    }
  }
}

}  // namespace

Solution solution_of(const Problem& problem, unsigned threads) {
  Solution solution;
  solution.values.resize(Solution::rows * Solution::columns);
  if (problem.equation == Equation::allen_cahn) {
    allen_cahn(problem.diffusion(), solution.values);
    return solution;
  }
  parallel_for(Solution::rows, threads, [&](std::uint64_t row) {
    const double y = at(problem.second(), row, Solution::rows);
    for (std::size_t c = 0; c < Solution::columns; ++c) {
      const double x = at(problem.first(), c, Solution::columns);
      double& value = solution.values[row * Solution::columns + c];
      if (problem.equation == Equation::burgers)
        value = burgers(problem.diffusion(), x, y);
      else
        value =
            std::sin(pi * x) * std::sin((problem.equation == Equation::helmholtz ? 4 : 1) * pi * y);
    }
  });
  return solution;
}

Solution solution_of_network(const Problem& problem, std::span<const float> parameters,
                             unsigned threads) {
  const std::vector<double> wide(parameters.begin(), parameters.end());
  const Network network{problem.layers, problem.width};
  Solution solution;
  solution.values.resize(Solution::rows * Solution::columns);
  // Splits rows, of which there are too few to keep all threads busy to the end.
  constexpr std::size_t parts = 3, each = Solution::columns / parts;
  static_assert(parts * each == Solution::columns);
  parallel_for(parts * Solution::rows, threads, [&](std::uint64_t part) {
    std::vector<Place> places(each);
    for (std::size_t i = 0; i < each; ++i)
      places[i] = {at(problem.first(), part % parts * each + i, Solution::columns),
                   at(problem.second(), part / parts, Solution::rows)};
    double* const values = solution.values.data() + part * each;
    Evaluation(network, each).evaluate(wide.data(), places, values);
    for (std::size_t i = 0; i < each; ++i) values[i] = constrained(problem, places[i], values[i]);
  });
  return solution;
}

double relative_error(const Solution& a, const Solution& b) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < b.values.size(); ++i) {
    difference += (a.values[i] - b.values[i]) * (a.values[i] - b.values[i]);
    size += b.values[i] * b.values[i];
  }
  return std::sqrt(difference / size);
}

}  // namespace mgpu::pinn
