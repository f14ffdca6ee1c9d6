// What devices have memory for.
#pragma once

#include <vector>

#include "suites/stencil/problem.hpp"

namespace mgpu::stencil {

// States that a device keeps: the initial one, two by turns, the sums of a star, and a copy of what
// a checkpoint holds.
inline std::uint64_t states(const Problem& problem) {
  const std::uint64_t changing = problem.kind == Kind::star ? 2 : 1;
  return 2 + changing + (problem.checkpoint_rounds > 0 ? changing : 0);
}

// In host memory: the cells of a result and what norms are made of; a checkpoint; and all that a
// problem keeps there, the initial state included.
inline Bytes outcome_bytes(const Problem& problem) {
  return problem.host_bytes() + problem.change_bytes();
}
inline Bytes checkpoint_bytes(const Problem& problem) {
  return outcome_bytes(problem) + (problem.kind == Kind::star ? problem.host_bytes() : 0);
}
inline Bytes host_bytes(const Problem& problem) {
  return problem.host_bytes() + outcome_bytes(problem) +
         (problem.checkpoint_rounds > 0 ? 2 * checkpoint_bytes(problem) : 0);
}

// Layers, besides halos, that a piece of shared memory has room for. It is of one size on all
// devices and allocated before shares are known: for all layers where every device has memory for
// them, or where the devices together have none for shares that the one with the least could hold;
// else for as many as that one holds. `devices` empty: not known.
std::uint64_t layers_of_piece(const Problem& problem, const std::vector<DeviceMemory>& devices);

// Throws Error(usage) for a problem that has not the layers for all devices to take part, or that
// they have no memory for.
void check_devices(const Problem& problem, const std::vector<DeviceMemory>& devices);

}  // namespace mgpu::stencil
