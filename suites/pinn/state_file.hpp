// What --output writes and --input continues from: a .npy array of float32 with three columns. Row
// 0: the format's number, layers, width. Row 1: which equation, steps done, points. Then a row for
// each parameter: its value, Adam's mean and mean square.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "suites/pinn/problem.hpp"

namespace mgpu::pinn {

// How many points the training in the file has. Throws Error(input), naming the file and what is
// accepted.
std::uint64_t points_in_state_file(const std::filesystem::path& file);

// Is it of this equation and network? How many steps it has done. Throws Error(input).
std::uint32_t check_state_file(const std::filesystem::path& file, const Problem& problem);

// Parameters, means, squares, each as many as the network has: into `state`, one after the other.
// Throws Error(input).
void read_state_file(const std::filesystem::path& file, const Problem& problem,
                     std::span<float> state);

// `state` after `problem.steps` more steps. Throws Error(output).
void write_state_file(const std::filesystem::path& file, const Problem& problem,
                      std::span<const float> state);

// Of several networks, one below the other, each as above.
void write_state_files(const std::filesystem::path& file, const Problem& problem,
                       std::span<const std::vector<float>> states);

// Beside it, FILE.solution.npy: the network on a grid, the solution, and the difference, `rows`
// rows each. Throws Error(output).
void write_solution_file(const std::filesystem::path& state_file, std::size_t rows,
                         std::span<const double> network, std::span<const double> solution);

}  // namespace mgpu::pinn
