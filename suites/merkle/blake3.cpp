// BLAKE3 by the recursion of its specification (section 2): a tree over chunks of 1024 bytes, whose
// left halves are the largest powers of two of chunks.
#include <algorithm>
#include <bit>

#include "suites/merkle/hash.hpp"

namespace mgpu::merkle {
namespace {

using Chain = std::array<std::uint32_t, 8>;
using Words = std::array<std::uint32_t, 16>;
constexpr std::uint32_t chunk_start = 1, chunk_end = 2, is_parent = 4, is_root = 8;
constexpr std::size_t block_bytes = 64, chunk_bytes = 1024;
constexpr Chain first_chain{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

void mix(Words& v, std::size_t column, std::size_t diagonal, std::uint32_t x, std::uint32_t y) {
  const auto row = [&](std::size_t r) -> std::uint32_t& {
    return v[4 * r + (column + r * diagonal) % 4];
  };
  std::uint32_t &a = row(0), &b = row(1), &c = row(2), &d = row(3);
  a += b + x, d = std::rotr(d ^ a, 16), c += d, b = std::rotr(b ^ c, 12);
  a += b + y, d = std::rotr(d ^ a, 8), c += d, b = std::rotr(b ^ c, 7);
}

Chain compress_block(const Chain& chain, Words message, std::uint64_t counter, std::size_t bytes,
                     std::uint32_t flags) {
  constexpr std::array<std::uint8_t, 16> order{2, 6,  3,  10, 7, 0,  4,  13,
                                               1, 11, 12, 5,  9, 14, 15, 8};
  Words v{};
  std::copy(chain.begin(), chain.end(), v.begin());
  std::copy_n(first_chain.begin(), 4, v.begin() + 8);
  v[12] = static_cast<std::uint32_t>(counter);
  v[13] = static_cast<std::uint32_t>(counter >> 32);
  v[14] = static_cast<std::uint32_t>(bytes);
  v[15] = flags;
  for (unsigned round = 0; round < 7; ++round) {
    for (std::size_t i = 0; i < 8; ++i) mix(v, i % 4, i / 4, message[2 * i], message[2 * i + 1]);
    const Words before = message;
    for (std::size_t i = 0; i < 16; ++i) message[i] = before[order[i]];
  }
  Chain out{};
  for (std::size_t i = 0; i < 8; ++i) out[i] = v[i] ^ v[i + 8];
  return out;
}

// Returns the chaining value of the subtree over `bytes`, which begin with chunk number `chunk`.
// `flags`: is_root or 0.
Chain subtree_chain(std::span<const std::uint8_t> bytes, std::uint64_t chunk, std::uint32_t flags) {
  if (bytes.size() > chunk_bytes) {
    const std::size_t left = std::bit_floor((bytes.size() - 1) / chunk_bytes);
    const Chain low = subtree_chain(bytes.first(left * chunk_bytes), chunk, 0),
                high = subtree_chain(bytes.subspan(left * chunk_bytes), chunk + left, 0);
    Words both{};
    std::copy(low.begin(), low.end(), both.begin());
    std::copy(high.begin(), high.end(), both.begin() + 8);
    return compress_block(first_chain, both, 0, block_bytes, is_parent | flags);
  }
  Chain chain = first_chain;
  std::uint32_t start = chunk_start;
  do {
    const auto block = bytes.first(std::min(bytes.size(), block_bytes));
    bytes = bytes.subspan(block.size());
    Words message{};
    for (std::size_t i = 0; i < block.size(); ++i)
      message[i / 4] |= std::uint32_t{block[i]} << (8 * (i % 4));
    chain = compress_block(chain, message, chunk, block.size(),
                           start | (bytes.empty() ? chunk_end | flags : 0));
    start = 0;
  } while (!bytes.empty());
  return chain;
}

}  // namespace

Digest blake3(std::span<const std::uint8_t> message) {
  return from_words(Hash::blake3, subtree_chain(message, 0, is_root));
}

}  // namespace mgpu::merkle
