// Published results for a lid-driven cavity: U. Ghia, K. N. Ghia and C. T. Shin, High-Re solutions
// for incompressible flow using the Navier-Stokes equations and a multigrid method, J. Comput.
// Phys. 48 (1982) 387-411, table I.
#pragma once

#include <array>

namespace mgpu::lbm {

struct CavityTable {
  int reynolds;
  std::array<double, 15> height;    // on the vertical centre line, relative to the cavity's
  std::array<double, 15> velocity;  // along x at that height, relative to the lid's
};

// Returns the table for this Reynolds number, or null if there is none.
const CavityTable* cavity_table(double reynolds);

}  // namespace mgpu::lbm
