// The circular shifts of the surrogates, and how they are divided into items of --axis permutation.
// Pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "lib/plan/slice_source.hpp"
#include "suites/pac/problem.hpp"

namespace mgpu::pac {

// Number of classes, which are the items of --axis permutation. A class has the shifts with one
// remainder modulo 8. Classes are ordered by bit-reversed remainder, so that an aligned range of 8
// / m classes has all shifts of one remainder modulo m, which pac_transform.cl computes without
// computing others.
inline constexpr unsigned shift_classes = 8;

// Series lengths for which transforms compute the shifts.
inline constexpr std::uint64_t least_transformed = 256, most_transformed = 4096;
bool can_transform(const Problem& problem);
// Returns the number of bits of an amplitude. The sum of a series' amplitudes is below the
// transforms' prime, or below 2^32 if the length cannot be transformed.
unsigned size_bits(const Problem& problem);

// Returns by how many samples surrogate n shifts each series: 1 to samples - 1, depending only on
// seed and n.
std::uint64_t shift_of(const Problem& problem, std::uint64_t n);

struct ShiftEntry {  // format of kernels/pac_index.cl
  std::uint32_t shift = 0, times = 0;
  static constexpr std::uint32_t observed = 0x80000000u;  // flag in `times`
};

// Each distinct shift once, and shift 0 for the observed index; ordered by class, ascending within
// one.
struct ShiftList {
  std::vector<ShiftEntry> entries;
  std::array<std::uint32_t, shift_classes + 1> first{};  // first entry of each class, and the end
};
ShiftList shift_list(const Problem& problem);

// Aligned range of classes: all shifts with remainder `rest` modulo `modulus`. nodes_of() returns
// those that make up [begin, end).
struct ShiftNode {
  std::uint32_t modulus = 1, rest = 0;
  std::uint32_t first = 0, count = 0;  // entries of the list
};
std::vector<ShiftNode> nodes_of(const ShiftList& list, Items begin, Items end);

}  // namespace mgpu::pac
