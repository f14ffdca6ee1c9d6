// State that --save-data writes and --input continues from: a .npy array of float32 with three
// columns. Row 0: the format's number, layers, width. Row 1: the equation, steps done, points. Then
// a row per parameter: its value, Adam's mean and mean square.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "suites/pinn/problem.hpp"

namespace mgpu::pinn {

// Returns the number of points of the training in the file. Throws Error(input) that names the file
// and what is expected.
std::uint64_t points_in_state_file(const std::filesystem::path& file);

// Checks that the file has this equation and network, and returns its number of steps. Throws
// Error(input).
std::uint32_t check_state_file(const std::filesystem::path& file, const Problem& problem);

// Reads parameters, means and squares into `state`, one block after another. Throws Error(input).
void read_state_file(const std::filesystem::path& file, const Problem& problem,
                     std::span<float> state);

// Writes `state` after `problem.steps` more steps. Throws Error(output).
void write_state_file(const std::filesystem::path& file, const Problem& problem,
                      std::span<const float> state);

// Writes several networks, one after another, in the same format.
void write_state_files(const std::filesystem::path& file, const Problem& problem,
                       std::span<const std::vector<float>> states);

// Writes FILE.solution.npy next to it: the network on a grid, the solution, and the difference,
// `rows` rows each. Throws Error(output).
void write_solution_file(const std::filesystem::path& state_file, std::size_t rows,
                         std::span<const double> network, std::span<const double> solution);

}  // namespace mgpu::pinn
