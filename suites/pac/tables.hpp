// Constants that the kernels read: of the filter and of the transforms.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "suites/pac/problem.hpp"

namespace mgpu::pac {

using Float2 = std::array<float, 2>;
using Uint2 = std::array<std::uint32_t, 2>;

struct FilterTables {
  std::vector<Float2> roots;       // e^(-2 pi i m / samples)
  std::vector<Float2> directions;  // of the borders of phase bins, from -pi on
  // Of phase bands, then of amplitude bands, for each frequency up to half of the samples; and
  // where it is not 0: [begin, end).
  std::vector<float> responses;
  std::vector<Uint2> ranges;
};
FilterTables filter_tables(const Problem& problem);

inline constexpr std::uint32_t prime = 167772161;  // of kernels/pac_transform.cl

// w with floor(w 2^32 / prime), by which its multiples are taken.
Uint2 with_quotient(std::uint64_t w);
// 2^32 / length modulo the prime: what products of two transforms lack after Montgomery's
// reduction.
std::uint64_t transform_factor(std::uint64_t length);
// For transforms of 2^log2_length numbers: of each pass of radix 16, 15 roots for each place in its
// stride (ROOT of the kernel); `up`: of the inverse.
std::vector<Uint2> transform_roots(unsigned log2_length, bool up);

}  // namespace mgpu::pac
