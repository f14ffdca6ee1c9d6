// All steps by plain loops on the host, which share nothing with the kernels but the order of each
// cell's sum; and what is known of the result without computing it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "suites/stencil/problem.hpp"

namespace mgpu::stencil {

// Numbers of the problem's precision.
struct Reference {
  std::vector<std::byte>
      cells;  // after problem.steps steps: along x, then rows, then planes; of star the sums
  std::vector<std::byte> changes;  // problem.checks() times problem.layers(): how much each layer
                                   // changed, squares added up
};

// Takes as long as that many steps take the host. Throws Error(interrupted).
Reference reference(const Problem& problem, std::span<const std::byte> initial, unsigned threads,
                    const HostWatch& watch = {});

// Where the initial state has a result in closed form: the decay of an eigenmode, the gain of a
// ramp.
struct ClosedForm {
  std::string name;   // for people
  std::string wrong;  // what differs by more than rounding explains; empty: nothing
};
std::optional<ClosedForm> compare_closed_form(const Problem& problem,
                                              std::span<const std::byte> result, unsigned threads);

// The initial state, where it is no file.
void fill_initial(const Problem& problem, std::span<std::byte> cells, unsigned threads);

// The L2 norm of the change that the layers' sums make.
double norm_of(const Problem& problem, const std::byte* sums);

}  // namespace mgpu::stencil
