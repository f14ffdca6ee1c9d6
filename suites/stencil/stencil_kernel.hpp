// Build options of kernels/stencil.cl.
#pragma once

#include <string>

#include "suites/stencil/problem.hpp"

namespace mgpu::stencil {

// Work-items per group that add up the changes of rows, as in kernels/stencil.cl.
inline constexpr std::size_t kLanes = 64;

// Tells whether work-items of a group add up in local memory.
inline bool is_grouped(const DeviceTraits& device) {
  return !device.cpu && device.max_work_group >= kLanes;
}

// Returns the cells per work-item along x.
inline unsigned vector_of(const Problem& problem, const DeviceTraits& device) {
  return device.cpu ? static_cast<unsigned>(64 / problem.element) : 4;
}

// Returns the build options. `strip` is the number of layers per work-item; `may_group`: kernels
// may add up as is_grouped() says.
inline std::string kernel_options(const Problem& problem, const DeviceTraits& device,
                                  unsigned strip, bool may_group = true) {
  std::string text = std::string("-DREAL=") + (problem.wide() ? "double" : "float") +
                     " -DVECTOR=" + std::to_string(vector_of(problem, device)) +
                     " -DSTRIP=" + std::to_string(strip);
  if (problem.kind == Kind::star) return text + " -DRADIUS=" + std::to_string(problem.radius);
  if (problem.checks() == 0) return text;
  return text + (may_group && is_grouped(device) ? " -DGROUPED=1" : " -DGROUPED=0");
}

// Return arguments in the precision of cells: a value, and the weight of a star at a distance.
inline KernelArg real_of(const Problem& problem, double value) {
  return problem.wide() ? KernelArg(value) : KernelArg(static_cast<float>(value));
}
inline KernelArg weight_of(const Problem& problem, std::uint32_t d) {
  return problem.wide() ? KernelArg(star_weight<double>(problem.radius, d))
                        : KernelArg(star_weight<float>(problem.radius, d));
}

}  // namespace mgpu::stencil
