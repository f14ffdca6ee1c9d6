// The requested problem: transforms of elements of a field.
#pragma once

#include <algorithm>

#include "lib/workload/workload.hpp"
#include "suites/ntt/field.hpp"

namespace mgpu::ntt {

// How columns get to other devices: stored there by the kernels that transform them, or put there
// afterwards.
enum class Way { chosen, kernels, puts };

// Orders of input and result: natural or bit-reversed.
struct Order {
  bool in_reversed = false, out_reversed = false;
};

struct Problem {
  Field field = Field::babybear;
  bool inverse = false;
  Order order;
  Way way = Way::chosen;
  unsigned bits = 0;        // log2 of the elements of a transform
  std::uint64_t batch = 1;  // number of transforms
  // Number of cosets on which each column is evaluated (low-degree extension); 0: plain transforms.
  std::uint64_t cosets = 0;
  std::uint64_t seed = 0;

  std::uint64_t n() const { return std::uint64_t{1} << bits; }
  Bytes element() const { return bytes_of(field); }
  Bytes transform_bytes() const { return n() * element(); }
  Bytes bytes() const { return batch * transform_bytes(); }
  Bytes result_bytes() const { return bytes() * std::max<std::uint64_t>(cosets, 1); }
  // Tells whether devices share one transform and exchange its columns; otherwise they share the
  // transforms.
  bool is_split() const { return batch == 1 && cosets == 0; }

  // Returns the inverse transforms of columns to be extended.
  Problem interpolation() const;

  // The bits of the radix of each pass. The last pass transforms rows, the others columns.
  std::vector<unsigned> passes() const;
  // log2 of n1 (rows) and n2 (columns) of a transform.
  unsigned row_bits() const { return bits - column_bits(); }
  unsigned column_bits() const { return passes().back(); }
  // Columns and rows per item of a split transform, which is as many of each.
  std::uint64_t columns_per_item() const;
  std::uint64_t rows_per_item() const;
};

// Largest radix of a pass, log2: tiles of 8192 words of 4 bytes have 16 columns then.
inline constexpr unsigned most_pass_bits = 9;
inline constexpr unsigned most_bits = 3 * most_pass_bits;

// Returns the problem of these parameters. Throws Error(usage), Error(input).
Problem problem_of(const SuiteParams& params);
Shape shape_of(const Problem& problem);
Bytes host_bytes(const Problem& problem);
// Returns the same for any size; the largest number for one that the field has no root of unity
// for.
Bytes host_bytes(const SuiteParams& params);

}  // namespace mgpu::ntt
