// Memory that devices need and have.
#pragma once

#include <vector>

#include "suites/stencil/problem.hpp"

namespace mgpu::stencil {

// Returns the number of states that a device keeps: the initial one, two in turn, the sums of a
// star, and a copy of a checkpoint.
inline std::uint64_t states(const Problem& problem) {
  const std::uint64_t changing = problem.kind == Kind::star ? 2 : 1;
  return 2 + changing + (problem.checkpoint_rounds > 0 ? changing : 0);
}

// Return sizes in host memory: a result with the sums of norms; a checkpoint; all memory of a
// problem, including the initial state.
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

// Returns the layers, without halos, that a piece of shared memory has room for. Pieces have the
// same size on all devices and are allocated before shares are known. They have all layers if every
// device has memory for that, or if equal pieces as large as the smallest device allows do not
// cover the problem; otherwise they have as many as the smallest device holds. Empty `devices`:
// unknown.
std::uint64_t layers_of_piece(const Problem& problem, const std::vector<DeviceMemory>& devices);

// Throws Error(usage) if there are too few layers for all devices, or too little memory.
void check_devices(const Problem& problem, const std::vector<DeviceMemory>& devices);

}  // namespace mgpu::stencil
