// The leaves of a tree in host memory: seeded random leaves, or those of a file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "lib/workload/pages.hpp"
#include "suites/merkle/tree.hpp"

namespace mgpu::merkle {

// Treatment of the end of a file that is shorter than a leaf.
enum class Remainder {
  refuse,
  pad,         // the leaf is filled up with zeros
  short_leaf,  // a leaf of its own: RFC 6962 hashes leaves of any length
};

class Leaves {
 public:
  // Makes random leaves: one after another, they are the 64-bit little-endian words
  // splitmix64(seed, 0), splitmix64(seed, 1) .. , whatever the number of threads.
  static Leaves random(std::uint64_t count, std::uint64_t seed, unsigned threads,
                       Bytes leaf_bytes = digest_bytes);
  // Reads `count` leaves, the number that count_in_file returned. Throws Error(input) if the file
  // cannot be read or its size has changed.
  static Leaves from_file(const std::filesystem::path& file, std::uint64_t count,
                          Remainder remainder, Bytes leaf_bytes = digest_bytes);

  std::uint64_t count() const { return count_; }
  // Returns the leaves as devices get them, of one length. A short last leaf is followed by a byte
  // 0x80 and then zeros, as the padding of SHA-256 begins; devices tell it from a full one by
  // unused_bytes() alone.
  std::span<const std::byte> bytes() const { return {pages_.data(), count_ * leaf_bytes_}; }
  std::span<const std::byte> bytes(std::uint64_t first, std::uint64_t end) const {
    return bytes().subspan(first * leaf_bytes_, (end - first) * leaf_bytes_);
  }
  // Returns the bytes to be hashed, without the filling of a short last leaf.
  std::span<const std::byte> content(std::uint64_t first, std::uint64_t end) const {
    const auto all = bytes(first, end);
    return end == count_ ? all.first(all.size() - unused_bytes_) : all;
  }
  Bytes unused_bytes() const { return unused_bytes_; }  // of the last leaf

 private:
  Leaves(std::uint64_t count, Bytes leaf_bytes);
  std::uint64_t count_;
  Bytes leaf_bytes_;
  Bytes unused_bytes_ = 0;
  Pages pages_;
};

// Returns the number of leaves in a file; an empty file has none. Throws Error(input) for a
// directory, for a file that cannot be opened, and for a remainder with Remainder::refuse.
std::uint64_t count_in_file(const std::filesystem::path& file, Remainder remainder,
                            Bytes leaf_bytes = digest_bytes);

// This power of two is so far below the address space that sums of a few buffers and paddings
// cannot overflow.
constexpr std::uint64_t most_leaves = std::uint64_t{1} << 56;

constexpr Bytes most_leaf_bytes = Bytes{1} << 30;  // kernels count a leaf's bytes with 32 bits

// Returns the size of the leaves. Throws Error(usage) for sizes beyond the address space.
Bytes bytes_of_leaves(std::uint64_t count, Bytes leaf_bytes = digest_bytes);

}  // namespace mgpu::merkle
