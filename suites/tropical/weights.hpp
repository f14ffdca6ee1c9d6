// Numbers of a problem in host memory, seeded or from files, in the form that kernels expect.
#pragma once

#include <filesystem>
#include <span>

#include "suites/tropical/problem.hpp"

namespace mgpu::tropical {

// Views the bytes as Numbers of `problem`.
template <class Number>
std::span<Number> as_numbers(std::span<std::byte> bytes) {
  return {reinterpret_cast<Number*>(bytes.data()), bytes.size() / sizeof(Number)};
}
template <class Number>
std::span<const Number> as_numbers(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const Number*>(bytes.data()), bytes.size() / sizeof(Number)};
}

// Fills in entries that depend only on `seed` and their index.
template <class Number>
void fill_operand(const Problem& problem, std::uint64_t seed, std::span<Number> to,
                  unsigned threads);
// Fills in a seeded graph without loops at a vertex and without negative cycles. The edge (u, v) is
// entry u n + v.
template <class Number>
void fill_graph(const Problem& problem, std::span<Number> to, unsigned threads);

// Converts numbers read from `file` to the form that kernels expect: their "nothing", and +0 for
// -0. Throws Error(input) for NaN and for numbers so large that a sum of `terms` of them may
// overflow.
template <class Number>
void take_from_file(const std::filesystem::path& file, const Problem& problem, std::uint64_t terms,
                    std::span<Number> numbers);
// Converts missing entries back to the form of files.
template <class Number>
void put_nothing_for_files(const Problem& problem, std::span<Number> numbers);

// Tells whether no number other than `nothing` is negative.
template <class Number>
bool all_at_least_zero(std::span<const Number> numbers, bool maximum, unsigned threads);

}  // namespace mgpu::tropical
