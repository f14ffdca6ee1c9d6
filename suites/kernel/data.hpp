// What arrays begin with.
#pragma once

#include <filesystem>
#include <optional>
#include <span>

#include "suites/kernel/problem.hpp"

namespace mgpu::kernel {

// By the argument's `fill`; each element depends on the seeds, the argument's place and its own
// only. Throws Error(input): a file that is not as long as the array, a value that its type has
// not.
void fill_array(const Problem& problem, std::size_t argument, unsigned threads,
                std::span<std::byte> to);

// The values of a file, `size` bytes: raw little-endian ones, or those of a .npy file of float or
// double. Throws Error(input).
void read_values(const std::string& where, const std::filesystem::path& file,
                 const ElementType& type, std::span<std::byte> to);

}  // namespace mgpu::kernel
