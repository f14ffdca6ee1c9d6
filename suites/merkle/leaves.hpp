// The leaves of a tree in host memory: seeded random ones, or a file's.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "lib/workload/pages.hpp"
#include "suites/merkle/tree.hpp"

namespace mgpu::merkle {

class Leaves {
 public:
  // Leaf i is four 64-bit little-endian words, splitmix64(seed, 4 i) .. splitmix64(seed, 4 i + 3): a function of seed and i alone,
  // so threads do not matter.
  static Leaves random(std::uint64_t count, std::uint64_t seed, unsigned threads);
  // `count` is what count_in_file said. Throws Error(input) when the file cannot be read or has another size by now.
  static Leaves from_file(const std::filesystem::path& file, std::uint64_t count);

  std::uint64_t count() const { return count_; }
  std::span<const std::byte> bytes() const { return {pages_.data(), count_ * digest_bytes}; }
  std::span<const std::byte> bytes(std::uint64_t first, std::uint64_t end) const {
    return bytes().subspan(first * digest_bytes, (end - first) * digest_bytes);
  }

 private:
  explicit Leaves(std::uint64_t count);
  std::uint64_t count_;
  Pages pages_;
};

// Leaves in a file: 32 bytes each, the last one filled up with zeros; an empty file has none. Throws Error(input) for a directory
// and for what cannot be opened.
std::uint64_t count_in_file(const std::filesystem::path& file);

// Their bytes; throws Error(usage) for counts beyond the address space.
Bytes bytes_of_leaves(std::uint64_t count);

}  // namespace mgpu::merkle
