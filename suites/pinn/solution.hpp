// The solutions of the equations, which no training knows of: what the network is compared with
// when it is done.
#pragma once

#include <span>
#include <vector>

#include "suites/pinn/problem.hpp"

namespace mgpu::pinn {

// On a grid: a row for each of the second input's values (t, or y), ends included.
struct Solution {
  static constexpr std::size_t columns = 201, rows = 41;
  std::vector<double> values;
};

// Burgers: Cole (1951) and Hopf (1950), their integrals by the trapezoidal rule; Allen-Cahn:
// differences in space, Runge-Kutta in time; the others in closed form.
Solution solution_of(const Problem& problem, unsigned threads);

// The network on the same grid, by fp64.
Solution solution_of_network(const Problem& problem, std::span<const float> parameters,
                             unsigned threads);

// ||a - b|| / ||b||, over the grid.
double relative_error(const Solution& a, const Solution& b);

}  // namespace mgpu::pinn
