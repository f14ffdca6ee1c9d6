// How kernels/stencil.cl is compiled for a device.
#pragma once

#include <string>

#include "suites/stencil/problem.hpp"

namespace mgpu::stencil {

// Work-items of a group that add up what rows changed: as kernels/stencil.cl has it.
inline constexpr std::size_t kLanes = 64;

// Work-items of a group share local memory, to add up.
inline bool is_grouped(const DeviceTraits& device) {
  return !device.cpu && device.max_work_group >= kLanes;
}

// Cells of a work-item along x.
inline unsigned vector_of(const Problem& problem, const DeviceTraits& device) {
  return device.cpu ? static_cast<unsigned>(64 / problem.element) : 4;
}

// `strip`: layers of a work-item.
inline std::string kernel_options(const Problem& problem, const DeviceTraits& device,
                                  unsigned strip) {
  std::string text = std::string("-DREAL=") + (problem.wide() ? "double" : "float") +
                     " -DVECTOR=" + std::to_string(vector_of(problem, device)) +
                     " -DSTRIP=" + std::to_string(strip);
  if (problem.kind == Kind::star) return text + " -DRADIUS=" + std::to_string(problem.radius);
  return text + (problem.checks() > 0 ? is_grouped(device) ? " -DGROUPED=1" : " -DGROUPED=0" : "");
}

}  // namespace mgpu::stencil
