// All steps by a plain loop on the host, which shares nothing with the kernels but the order of each cell's sum.
#pragma once

#include <span>
#include <vector>

#include "suites/stencil/problem.hpp"

namespace mgpu::stencil {

// The state after problem.steps steps, cells along x, then rows, then planes. Takes as long as that many steps take the host.
std::vector<float> reference(const Problem& problem, std::span<const float> initial, unsigned threads);

}  // namespace mgpu::stencil
