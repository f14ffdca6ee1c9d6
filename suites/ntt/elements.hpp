// Elements of fields in host memory and files: canonical words, least significant first, of 4 bytes
// (31-bit fields), 8 (Goldilocks) or 32. Transforms follow each other.
#pragma once

#include <filesystem>
#include <span>

#include "suites/ntt/problem.hpp"

namespace mgpu::ntt {

// Returns the number of elements in the file of --input: raw, or .npy with a row per transform. It
// is a multiple of the batch. Throws Error(input).
std::uint64_t elements_in_files(const SuiteParams& params, const Problem& problem);

// Reads the file. Throws Error(input), also for an element that is not canonical.
void read_elements(const std::filesystem::path& file, const Problem& problem,
                   std::span<std::byte> to, unsigned threads);

// Writes seeded elements: element i is splitmix64(seed, i) modulo p.
void fill_elements(const Problem& problem, std::span<std::byte> to, unsigned threads);

// Writes --save-data: raw, or .npy if the name ends so. Throws Error(output).
void write_elements(const std::filesystem::path& file, const Problem& problem,
                    std::span<const std::byte> elements);

}  // namespace mgpu::ntt
