// Writes the fields of a result to the file of --save-data.
#pragma once

#include <filesystem>
#include <span>

#include "suites/lbm/problem.hpp"

namespace mgpu::lbm {

// Writes VTK's legacy format if the name ends in .vtk: structured points, each with velocity and
// density. Otherwise writes .npy: a row of four float32 per cell, velocity along x, y and z and
// density - 1; cells along x, then rows, then planes. Throws Error(output).
void write_fields(const std::filesystem::path& file, const Problem& problem,
                  std::span<const std::byte> cells);

}  // namespace mgpu::lbm
