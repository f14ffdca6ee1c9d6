// Computes all steps by plain loops on the host. It shares nothing with the kernels except the
// order of each sum.
#pragma once

#include <vector>

#include "suites/lbm/flow.hpp"

namespace mgpu::lbm {

// Part of a box: its first cell along x, y and z, and the number of cells.
struct Window {
  std::array<std::uint64_t, 3> first{}, size{};
};

// Returns the cells of a window after all steps: along x, then rows, then planes. Information
// travels at most one cell per step, so if the box continues beyond the window, as many cells
// around it are computed as there are steps left. Takes as long as that takes the host. Throws
// Error(input) if the flow grows without bound, with the step in which a number is no longer
// finite, and Error(interrupted). `sample`: as in HostWork.
std::vector<Cell> reference(const Problem& problem, const Beginning& beginning,
                            const Window& window, unsigned threads, const HostWatch& watch = {},
                            const std::string& sample = "");

// Work of a reference: cells that are kept, and cells that are computed in all steps.
struct Work {
  std::uint64_t cells = 0;
  double updates = 0;
};
Work work_of(const Problem& problem, const Window& window);

}  // namespace mgpu::lbm
