// Numbers of a problem in host memory: seeded, or from files, in the form that kernels take.
#pragma once

#include <filesystem>
#include <span>

#include "suites/tropical/problem.hpp"

namespace mgpu::tropical {

// As Numbers of `problem`.
template <class Number>
std::span<Number> as_numbers(std::span<std::byte> bytes) {
  return {reinterpret_cast<Number*>(bytes.data()), bytes.size() / sizeof(Number)};
}
template <class Number>
std::span<const Number> as_numbers(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const Number*>(bytes.data()), bytes.size() / sizeof(Number)};
}

// Entry i is a function of `seed` and i alone.
template <class Number>
void fill_operand(const Problem& problem, std::uint64_t seed, std::span<Number> to,
                  unsigned threads);
// Likewise of a graph: no edge from a vertex to itself, and no cycle that gains. (u, v) is entry u
// n + v.
template <class Number>
void fill_graph(const Problem& problem, std::span<Number> to, unsigned threads);

// What was read from `file`, so that kernels can take it: its own "nothing", +0 for -0. Throws
// Error(input) for what is not a number, or so large that a sum of `terms` of them may leave the
// range.
template <class Number>
void take_from_file(const std::filesystem::path& file, const Problem& problem, std::uint64_t terms,
                    std::span<Number> numbers);
// Back: what a file says.
template <class Number>
void put_nothing_for_files(const Problem& problem, std::span<Number> numbers);

// Whether none is below zero, but for `nothing`.
template <class Number>
bool all_at_least_zero(std::span<const Number> numbers, bool maximum, unsigned threads);

}  // namespace mgpu::tropical
