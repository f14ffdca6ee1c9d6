// Maps a slice to the bytes of an argument's array that it reads and writes, and to their place in
// the buffer that the kernel gets.
#pragma once

#include <span>
#include <vector>

#include "suites/kernel/problem.hpp"

namespace mgpu::kernel {

// A strided copy of `count` pieces of `length` bytes. `device` is relative to the kernel's index 0,
// `host` to the beginning of the array.
struct Move {
  // `stride` is the distance between pieces, on both sides.
  Bytes device = 0, host = 0, length = 0, count = 1, stride = 0;
  bool zeros = false;  // zero bytes instead of the array's contents
};

// Returns the copies of a slice's inputs, including halo items. `inputs` is the problem's host
// memory, which has the offsets of ragged arguments. Throws Error(input) for a range outside of the
// array.
std::vector<Move> input_moves(const Problem& problem, std::span<const std::byte> inputs,
                              std::size_t argument, const Slice& slice);
// Returns the copies of a slice's results, without those that are combined.
std::vector<Move> output_moves(const Problem& problem, std::size_t argument, const Slice& slice);

// Returns the size of the buffer that a kernel gets for a slice.
Bytes slice_bytes(const Problem& problem, const Argument& argument, const Slice& slice);
// Returns the distance from index 0 of a buffer for `of` to index 0 of one for `slice`, which
// begins no earlier.
Bytes slice_offset(const Argument& argument, const Slice& of, const Slice& slice);

// Writes an accumulator's initial value; combines two accumulators by their operation.
void put_identity(const Argument& argument, std::span<std::byte> to);
void combine(const Argument& argument, std::span<const std::byte> from, std::span<std::byte> into);

// Records that one device or several appended, in any order.
struct Records {
  std::vector<std::byte> bytes;  // records so far
  std::uint64_t wanted = 0;      // sum of the counters; above the array's size if that is too small
  void add(const Argument& argument, std::span<const std::byte> records, std::uint64_t count);
  // Writes the records sorted by their values, lane by lane, or by their bytes, and zeros behind
  // them, so that all splits give the same result. Throws Error(input) if the array is too small.
  void put(const Argument& argument, std::span<std::byte> to) const;
};
// Returns a counter's value.
std::uint64_t count_in(const Argument& counter, std::span<const std::byte> from);

// Returns the item of an element that is counted from index 0 of a buffer for `slice`. The item may
// lie outside of the problem.
std::int64_t item_of(const Problem& problem, const Argument& argument, const Slice& slice,
                     std::int64_t element);

}  // namespace mgpu::kernel
