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

// How devices share a commitment: they own columns and send each other rows of them once extended;
// they own columns, gather all coefficients, and evaluate and hash whole cosets; or they own
// columns and hand on the state of the hash of each row.
enum class Partition { columns, cosets, relay };
inline constexpr std::array<std::string_view, 3> partition_names{"columns", "cosets", "relay"};
inline std::string_view name_of(Partition partition) {
  return partition_names[static_cast<std::size_t>(partition)];
}

struct Problem {
  Field field = Field::babybear;
  bool inverse = false;
  Order order;
  Way way = Way::chosen;
  unsigned bits = 0;        // log2 of the elements of a transform
  std::uint64_t batch = 1;  // number of transforms
  // Number of cosets on which each column is evaluated (low-degree extension); 0: plain transforms.
  std::uint64_t cosets = 0;
  // Hashes the rows of all columns, which are extended to Montgomery form, as that costs nothing.
  // Without cosets these are the columns' own.
  bool commits = false;
  Partition partition = Partition::columns;
  std::uint64_t seed = 0;

  std::uint64_t n() const { return std::uint64_t{1} << bits; }
  Bytes element() const { return bytes_of(field); }
  Bytes transform_bytes() const { return n() * element(); }
  Bytes bytes() const { return batch * transform_bytes(); }
  Bytes extended_bytes() const { return bytes() * std::max<std::uint64_t>(cosets, 1); }
  // Returns the size of what is downloaded: of a commitment, the roots of blocks, and for each
  // opened row its hash and the nodes next to its path.
  Bytes result_bytes() const;
  // Tells whether devices share one transform and exchange its columns; otherwise they share the
  // transforms.
  bool is_split() const { return batch == 1 && cosets == 0 && !commits; }

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
  // Returns the number of transforms that a launch computes.
  std::uint64_t at_once() const;

  // Of a commitment, whose items are blocks of rows, a power of two of them, and parts of the
  // columns. Columns of an item are a multiple of those that a hash absorbs at once, and the last
  // item has the rest, so that between devices the capacity is the whole state.
  struct Range {
    std::uint64_t begin = 0, end = 0;
    std::uint64_t size() const { return end - begin; }
  };
  std::uint64_t rows() const { return n() * std::max<std::uint64_t>(cosets, 1); }
  std::uint64_t blocks() const;
  // Tells whether each of so many devices can have a coset.
  bool has_cosets_for(std::uint64_t devices) const {
    return std::max<std::uint64_t>(cosets, 1) >= devices;
  }
  // Returns the number of rows whose hashes are handed on at once.
  std::uint64_t relayed_rows() const;
  std::uint64_t block_rows() const { return rows() / blocks(); }
  unsigned block_bits() const;
  Range rows_of(const Slice& items) const {
    return {items.begin * block_rows(), items.end * block_rows()};
  }
  Range columns_of(const Slice& items) const;
  // Returns the first node of a level above the leaves in the memory of a tree of `rows` leaves.
  static std::uint64_t level_at(std::uint64_t rows, unsigned level) {
    return rows - (rows >> (level - 1));
  }
};

// Rows of a commitment that are compared one by one, and size of a digest.
inline constexpr std::size_t opened_rows = 4;
inline constexpr Bytes digest_bytes = 32;

// Largest radix of a pass, log2: tiles of 8192 words of 4 bytes have 16 columns then.
inline constexpr unsigned most_pass_bits = 9;
inline constexpr unsigned most_bits = 3 * most_pass_bits;

// Returns the problem of these parameters. Throws Error(usage), Error(input).
Problem problem_of(const SuiteParams& params);
// Returns the number of elements of a column with which all columns fill a device, where `size` is
// that of a single transform.
std::uint64_t full_size(const SuiteParams& params);
Shape shape_of(const Problem& problem);
Bytes host_bytes(const Problem& problem);
// Returns the same for any size; the largest number for one that the field has no root of unity
// for.
Bytes host_bytes(const SuiteParams& params);

}  // namespace mgpu::ntt
