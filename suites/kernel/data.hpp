// Initial contents of arrays.
#pragma once

#include <filesystem>
#include <optional>
#include <span>

#include "suites/kernel/problem.hpp"

namespace mgpu::kernel {

// Fills an array as the argument's `fill` says. Each element depends only on the seeds, the
// argument's position and its own index. Throws Error(input) if a file is not as long as the array,
// or if the element type cannot hold a value.
void fill_array(const Problem& problem, std::size_t argument, unsigned threads,
                std::span<std::byte> to);

// Reads values from a file until `to` is full: raw little-endian ones, or those of a .npy file of
// float or double. Throws Error(input).
void read_values(const std::string& where, const std::filesystem::path& file,
                 const ElementType& type, std::span<std::byte> to);

}  // namespace mgpu::kernel
