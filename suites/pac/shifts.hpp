// Which circular shifts the surrogates are, and how they fall into items of --axis permutation.
// Pure.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "lib/plan/slice_source.hpp"
#include "suites/pac/problem.hpp"

namespace mgpu::pac {

// An item of --axis permutation is a class: the shifts that leave one rest modulo 8, in
// bit-reversed order of rests, so that an aligned range of 8 / m classes is all shifts of one rest
// modulo m. pac_transform.cl computes those alone without computing others.
inline constexpr unsigned shift_classes = 8;

// Lengths whose shifts are computed by transforms.
inline constexpr std::uint64_t least_transformed = 256, most_transformed = 4096;
bool can_transform(const Problem& problem);
// Of an amplitude. What a series' amplitudes add up to is below the transforms' prime, or 2^32
// where there are none.
unsigned size_bits(const Problem& problem);

// Surrogate number n is each series shifted by so many samples, 1 to samples - 1: a function of
// seed and n alone.
std::uint64_t shift_of(const Problem& problem, std::uint64_t n);

struct ShiftEntry {  // of kernels/pac_index.cl
  std::uint32_t shift = 0, times = 0;
  static constexpr std::uint32_t observed = 0x80000000u;  // in `times`
};

// Each shift once, and 0, which is what is observed: class by class, ascending within one.
struct ShiftList {
  std::vector<ShiftEntry> entries;
  std::array<std::uint32_t, shift_classes + 1> first{};  // of each class, and the end
};
ShiftList shift_list(const Problem& problem);

// Aligned ranges of classes that make up [begin, end): all shifts of rest `rest` modulo `modulus`.
struct ShiftNode {
  std::uint32_t modulus = 1, rest = 0;
  std::uint32_t first = 0, count = 0;  // entries of the list
};
std::vector<ShiftNode> nodes_of(const ShiftList& list, Items begin, Items end);

}  // namespace mgpu::pac
