// Solutions of the equations, which the trainings do not use: the final network is compared with
// them.
#pragma once

#include <span>
#include <vector>

#include "suites/pinn/problem.hpp"

namespace mgpu::pinn {

// Values on a grid: a row per value of the second input (t or y), ends included.
struct Solution {
  static constexpr std::size_t columns = 201, rows = 41;
  std::vector<double> values;
};

// Returns the solution. Burgers: the integrals of Cole (1951) and Hopf (1950) by the trapezoidal
// rule; Allen-Cahn: differences in space, Runge-Kutta in time; others in closed form.
Solution solution_of(const Problem& problem, unsigned threads);

// Returns the network's values on the same grid, in fp64.
Solution solution_of_network(const Problem& problem, std::span<const float> parameters,
                             unsigned threads);

// Returns ||a - b|| / ||b|| over the grid.
double relative_error(const Solution& a, const Solution& b);

}  // namespace mgpu::pinn
