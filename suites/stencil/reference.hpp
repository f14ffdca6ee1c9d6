// Reference by plain loops on the host, which share with the kernels only the order of each cell's
// sum; and closed forms of results.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/workload/pages.hpp"
#include "suites/stencil/problem.hpp"

namespace mgpu::stencil {

// Numbers in the problem's precision.
struct Reference {
  // After problem.steps steps, in the order x, rows, planes; of a star the sums.
  Pages cells;
  // Sums of squared changes per layer: problem.checks() times problem.layers().
  std::vector<std::byte> changes;
};

// Computes the steps on the host, which takes as long as that takes. Throws Error(interrupted).
Reference reference(const Problem& problem, std::span<const std::byte> initial, unsigned threads,
                    const HostWatch& watch = {});

// Comparison with a result in closed form: the decay of an eigenmode, the gain of a ramp.
struct ClosedForm {
  std::string name;   // name for reports
  std::string wrong;  // difference beyond rounding; empty: none
};
std::optional<ClosedForm> compare_closed_form(const Problem& problem,
                                              std::span<const std::byte> result, unsigned threads);

// Fills in the initial state, unless it is a file.
void fill_initial(const Problem& problem, std::span<std::byte> cells, unsigned threads);

// Returns the L2 norm of the change from the sums of all layers.
double norm_of(const Problem& problem, const std::byte* sums);

}  // namespace mgpu::stencil
