// The leaves of a tree in host memory: seeded random ones, or a file's.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "lib/workload/pages.hpp"
#include "suites/merkle/tree.hpp"

namespace mgpu::merkle {

// What becomes of the end of a file that is shorter than a leaf.
enum class Remainder {
  refuse,
  pad,         // it is filled up with zeros
  short_leaf,  // it is a leaf all the same: RFC 6962 hashes leaves of any length
};

class Leaves {
 public:
  // Leaf i is four 64-bit little-endian words, splitmix64(seed, 4 i) .. splitmix64(seed, 4 i + 3):
  // a function of seed and i alone, so threads do not matter.
  static Leaves random(std::uint64_t count, std::uint64_t seed, unsigned threads);
  // `count` is what count_in_file said. Throws Error(input) when the file cannot be read or has
  // another size by now.
  static Leaves from_file(const std::filesystem::path& file, std::uint64_t count,
                          Remainder remainder);

  std::uint64_t count() const { return count_; }
  // As devices get them: 32 bytes each. A short one, of n bytes, has a byte 0x80 and then zeros
  // behind them, as the padding of SHA-256 begins: what a device makes of that depends on
  // unused_bits() alone.
  std::span<const std::byte> bytes() const { return {pages_.data(), count_ * digest_bytes}; }
  std::span<const std::byte> bytes(std::uint64_t first, std::uint64_t end) const {
    return bytes().subspan(first * digest_bytes, (end - first) * digest_bytes);
  }
  // What is hashed: the last leaf without what is behind a short one.
  std::span<const std::byte> content(std::uint64_t first, std::uint64_t end) const {
    const auto all = bytes(first, end);
    return end == count_ ? all.first(all.size() - unused_bytes_) : all;
  }
  std::uint32_t unused_bits() const {
    return static_cast<std::uint32_t>(8 * unused_bytes_);
  }  // of the last leaf

 private:
  explicit Leaves(std::uint64_t count);
  std::uint64_t count_;
  Bytes unused_bytes_ = 0;
  Pages pages_;
};

// Leaves in a file, 32 bytes each; an empty file has none. Throws Error(input) for a directory, for
// what cannot be opened, and for a remainder that is to be refused.
std::uint64_t count_in_file(const std::filesystem::path& file, Remainder remainder);

// Their bytes; throws Error(usage) for counts beyond the address space.
Bytes bytes_of_leaves(std::uint64_t count);

}  // namespace mgpu::merkle
