// What is asked for: a product in a tropical semiring, or all shortest paths of a graph. A sum in
// the semiring min-plus is the smaller of two numbers, in max-plus the larger, and a product is
// their sum.
#pragma once

#include <optional>
#include <string>

#include "suites/common/product_sizes.hpp"

namespace mgpu::tropical {

using namespace product;

enum class Data {
  integers,  // 1 to 1000
  uniform,   // fp32 in [0, 1)
  negative   // of either sign; no cycle of a graph of them goes below zero
};

struct Route {  // of vertices, from 0
  std::uint64_t from = 0, to = 0;
};

struct Problem {
  bool shortest_paths = false;  // --op apsp; else a product
  bool maximum = false;         // max-plus
  bool integers = false;        // int32
  bool paths =
      false;  // of a product which k gave an element; of a graph the vertex before the last
  std::string kernel = "auto";  // or "portable", in plain OpenCL C, or the name of a variant
  Axis axis = Axis::rows;
  std::uint64_t rows = 0, columns = 0, inner = 0;  // of a graph all the same: its vertices
  Data data = Data::integers;
  double density = 1;  // share of the seeded entries that are there
  std::uint64_t seed = 0;
  std::optional<Route> route;  // to be told

  ProductSizes sizes() const {
    return {rows, columns, inner, 4, axis, false, inner > 0, paths ? Bytes{4} : 0};
  }
  const char* semiring() const { return maximum ? "max-plus" : "min-plus"; }
};

// No edge. In int32 half of the largest number, as in kernels/tropical_numbers.cl, so that sums do
// not wrap around: then other numbers are at most 2^28, and a sum with it in it is beyond 2^29,
// which without it no sum of two is.
inline constexpr std::int32_t nothing_int32 = 0x3fffffff, largest_int32 = 1 << 28;
template <class Number>
Number nothing(bool maximum);
// What files say instead: the largest int32 (in max-plus the smallest), or an infinity.
template <class Number>
Number nothing_in_files(bool maximum);
template <>
std::int32_t nothing<std::int32_t>(bool maximum);
template <>
float nothing<float>(bool maximum);
template <>
std::int32_t nothing_in_files<std::int32_t>(bool maximum);
template <>
float nothing_in_files<float>(bool maximum);

// Throws Error(usage) for an option or size it cannot do, Error(input) for files that do not go
// together.
Problem problem_of(const SuiteParams& params);

// Throws Error(usage) for a route of vertices that the graph does not have: not of each size that
// is tried out, only of what is asked for.
void check_route(const Problem& problem);

// Vertices of a graph, at most: states are numbered in 32 bits.
inline constexpr std::uint64_t most_vertices = 1 << 16;

}  // namespace mgpu::tropical
