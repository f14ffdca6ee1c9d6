// What devices have memory for.
#pragma once

#include <vector>

#include "suites/stencil/problem.hpp"

namespace mgpu::stencil {

// States that a device keeps: the initial one, two by turns, and the sums of a star.
inline std::uint64_t states(const Problem& problem) { return problem.kind == Kind::star ? 4 : 3; }

// Layers, besides halos, that a piece of shared memory has room for. It is of one size on all devices and allocated before shares
// are known: for all layers where every device has memory for them, or where the devices together have none for shares that the one
// with the least could hold; else for as many as that one holds. `devices` empty: not known.
std::uint64_t layers_of_piece(const Problem& problem, const std::vector<DeviceMemory>& devices);

// Throws Error(usage) for a problem that has not the layers for all devices to take part, or that they have no memory for.
void check_devices(const Problem& problem, const std::vector<DeviceMemory>& devices);

}  // namespace mgpu::stencil
