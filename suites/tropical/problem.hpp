// The problem: a product in a tropical semiring, or all shortest paths of a graph. The
// semiring's sum is the smaller of two numbers in min-plus and the larger in max-plus; its product
// is their sum.
#pragma once

#include <optional>
#include <string>

#include "suites/common/product_sizes.hpp"

namespace mgpu::tropical {

using namespace product;

enum class Data {
  integers,  // 1 to 1000
  uniform,   // fp32 in [0, 1)
  negative   // both signs; no cycle of a graph has negative length
};

struct Route {  // vertices, counted from 0
  std::uint64_t from = 0, to = 0;
};

struct Problem {
  bool shortest_paths = false;  // --op apsp; otherwise a product
  bool maximum = false;         // max-plus
  bool integers = false;        // int32
  // Also compute, for a product, the k of each element; for a graph, the last vertex but one.
  bool paths = false;
  std::string kernel = "auto";  // or "portable", in plain OpenCL C, or the name of a variant
  Axis axis = Axis::rows;
  std::uint64_t rows = 0, columns = 0, inner = 0;  // all are a graph's number of vertices
  Data data = Data::integers;
  double density = 1;  // fraction of the seeded entries that exist
  std::uint64_t seed = 0;
  std::optional<Route> route;  // route to report
  bool absolute = false;       // a file's weights count by their absolute values

  ProductSizes sizes() const {
    return {rows, columns, inner, 4, axis, false, inner > 0, paths ? Bytes{4} : 0};
  }
  const char* semiring() const { return maximum ? "max-plus" : "min-plus"; }
};

// Number for a missing edge: in fp32 an infinity, in int32 half of the largest number, as in
// kernels/tropical_numbers.cl, so that sums do not wrap around. Other int32 numbers are at most
// 2^28. A sum with a missing edge is above 2^29, a sum of two others is not.
inline constexpr std::int32_t nothing_int32 = 0x3fffffff, largest_int32 = 1 << 28;
template <class Number>
Number nothing(bool maximum);
// Returns the number for a missing edge in files: the largest int32 (in max-plus the smallest), or
// an infinity.
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

// Reads the problem. Throws Error(usage) for unsupported options or sizes, Error(input) for files
// that do not match each other.
Problem problem_of(const SuiteParams& params);

// Throws Error(usage) for a route with vertices that the graph lacks. Only the requested size is
// checked, not every size that is tried out.
void check_route(const Problem& problem);

// Most vertices of a graph: states are numbered in 32 bits.
inline constexpr std::uint64_t most_vertices = 1 << 16;

}  // namespace mgpu::tropical
