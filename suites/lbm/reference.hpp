// All steps by plain loops on the host, which share nothing with the kernels but the order of each
// sum.
#pragma once

#include <vector>

#include "suites/lbm/flow.hpp"

namespace mgpu::lbm {

// Part of a box: its first cell along x, y and z, and how many there are.
struct Window {
  std::array<std::uint64_t, 3> first{}, size{};
};

// The cells of a window after all steps, along x, then rows, then planes. Nothing comes farther
// than a cell in a step: where the box goes on beyond the window, as many cells around it are
// computed as there are steps left. Takes as long as that takes the host. Throws Error(input) where
// the flow grows without bound, with the step in which a number is not finite any more, and
// Error(interrupted). `sample`: as HostWork has it.
std::vector<Cell> reference(const Problem& problem, const Beginning& beginning,
                            const Window& window, unsigned threads, const HostWatch& watch = {},
                            const std::string& sample = "");

// What that takes: cells that are kept, and cells that are computed in all steps.
struct Work {
  std::uint64_t cells = 0;
  double updates = 0;
};
Work work_of(const Problem& problem, const Window& window);

}  // namespace mgpu::lbm
