// --output: the fields of a result as a file.
#pragma once

#include <filesystem>
#include <span>

#include "suites/lbm/problem.hpp"

namespace mgpu::lbm {

// Where the name ends in .vtk: VTK's legacy format, structured points with the velocity and the
// density of each. Else .npy: a row of four float32 for each cell, velocity along x, y and z and
// what the density exceeds 1 by, cells along x, then rows, then planes. Throws Error(output).
void write_fields(const std::filesystem::path& file, const Problem& problem,
                  std::span<const std::byte> cells);

}  // namespace mgpu::lbm
