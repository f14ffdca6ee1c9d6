// What was computed of a cavity whose lid moves, by others: U. Ghia, K. N. Ghia and C. T. Shin,
// High-Re solutions for incompressible flow using the Navier-Stokes equations and a multigrid
// method, J. Comput. Phys. 48 (1982) 387-411, table I.
#pragma once

#include <array>

namespace mgpu::lbm {

struct CavityTable {
  int reynolds;
  std::array<double, 15> height;    // on the line up the middle, as a part of the cavity's
  std::array<double, 15> velocity;  // along x there, as a part of the lid's
};

// Null: there is none for this Reynolds number.
const CavityTable* cavity_table(double reynolds);

}  // namespace mgpu::lbm
