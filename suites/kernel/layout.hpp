// Which bytes of an argument's array a slice needs and makes, and where they are in the buffer that
// a kernel is given.
#pragma once

#include <span>
#include <vector>

#include "suites/kernel/problem.hpp"

namespace mgpu::kernel {

// `count` pieces of `length` bytes. `device`: from where index 0 of the kernel is; `host`: from the
// beginning of the array.
struct Move {
  Bytes device = 0, host = 0, length = 0, count = 1,
        stride = 0;    // stride: from one piece to the next, on both sides
  bool zeros = false;  // zero bytes instead of the array's
};

// Inputs of a slice, with what lies beside. `inputs`: host memory of the problem, which has the
// offsets of ragged ones. Throws Error(input) for a range that is not in the array.
std::vector<Move> input_moves(const Problem& problem, std::span<const std::byte> inputs,
                              std::size_t argument, const Slice& slice);
// The results of a slice; none of those that are combined.
std::vector<Move> output_moves(const Problem& problem, std::size_t argument, const Slice& slice);

// Of what a kernel is given for a slice: as much as it may use.
Bytes slice_bytes(const Problem& problem, const Argument& argument, const Slice& slice);
// From index 0 of a buffer for `of` (which begins no later) to index 0 of one for `slice`.
Bytes slice_offset(const Argument& argument, const Slice& of, const Slice& slice);

// What an accumulator begins with, and how two combine, where that is an operation.
void put_identity(const Argument& argument, std::span<std::byte> to);
void combine(const Argument& argument, std::span<const std::byte> from, std::span<std::byte> into);

// What a device, or several, appended: records in whatever order they came.
struct Records {
  std::vector<std::byte> bytes;  // of as many as there are
  std::uint64_t wanted = 0;      // as counters say; more than the array holds where it is too small
  void add(const Argument& argument, std::span<const std::byte> records, std::uint64_t count);
  // In the order of their values, lane by lane, or of their bytes, so that all splits make the same
  // of them; zeros behind. Throws Error(input) where the array is too small.
  void put(const Argument& argument, std::span<std::byte> to) const;
};
// As a counter has it.
std::uint64_t count_in(const Argument& counter, std::span<const std::byte> from);

// The item that an element belongs to, counted from index 0 of a buffer for `slice`; may lie beside
// all items.
std::int64_t item_of(const Problem& problem, const Argument& argument, const Slice& slice,
                     std::int64_t element);

}  // namespace mgpu::kernel
