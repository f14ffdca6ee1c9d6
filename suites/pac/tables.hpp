// Constants that the filter and transform kernels read.
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
  std::vector<Float2> directions;  // borders of phase bins, starting at -pi
  // Responses of phase bands, then of amplitude bands, at each frequency up to half of the samples,
  // and the range [begin, end) in which each is not 0.
  std::vector<float> responses;
  std::vector<Uint2> ranges;
};
FilterTables filter_tables(const Problem& problem);

inline constexpr std::uint32_t prime = 167772161;  // PRIME of kernels/pac_transform.cl

// Returns w with floor(w 2^32 / prime), with which the kernels multiply by w.
Uint2 with_quotient(std::uint64_t w);
// Returns 2^32 / length modulo the prime: the factor missing from products of two transforms after
// Montgomery reduction.
std::uint64_t transform_factor(std::uint64_t length);
// Returns the roots for transforms of 2^log2_length numbers: per pass of radix 16, 15 roots for
// each position in its stride (ROOT of the kernel). `up`: roots of the inverse transform.
std::vector<Uint2> transform_roots(unsigned log2_length, bool up);

}  // namespace mgpu::pac
