// Keccak-256 as in FIPS 202, section 3.2, but for its padding. The constants are computed from
// their definitions (sections 3.2.2 and 3.2.5), so that no table is typed in a second time.
#include <bit>

#include "suites/merkle/hash.hpp"

namespace mgpu::merkle {
namespace {

using Lanes = std::array<std::uint64_t, 25>;  // lane (x, y) is at x + 5 y
constexpr std::size_t block_size = 136;       // bytes that a block has

constexpr std::array<std::uint64_t, 24> make_round_flips() {
  std::array<std::uint64_t, 24> out{};
  unsigned lfsr = 1;  // x^8 + x^6 + x^5 + x^4 + 1
  for (std::uint64_t& constant : out) {
    for (unsigned j = 0; j <= 6; ++j) {
      if (lfsr & 1) constant |= std::uint64_t{1} << ((1u << j) - 1);
      lfsr = lfsr << 1 ^ (lfsr & 0x80 ? 0x171u : 0u);
    }
  }
  return out;
}
constexpr auto round_flips = make_round_flips();
static_assert(round_flips[0] == 1 && round_flips[23] == 0x8000000080008008);

void permute_lanes(Lanes& a) {
  for (const std::uint64_t constant : round_flips) {
    std::array<std::uint64_t, 5> column{};
    for (std::size_t i = 0; i < 25; ++i) column[i % 5] ^= a[i];
    for (std::size_t i = 0; i < 25; ++i)
      a[i] ^= column[(i + 4) % 5] ^ std::rotl(column[(i + 1) % 5], 1);
    Lanes b = a;
    for (std::size_t x = 1, y = 0, t = 0; t < 24; ++t) {
      const std::size_t next = (2 * x + 3 * y) % 5;
      b[y + 5 * next] = std::rotl(a[x + 5 * y], static_cast<int>((t + 1) * (t + 2) / 2 % 64));
      x = y, y = next;
    }
    for (std::size_t y = 0; y < 25; y += 5)
      for (std::size_t x = 0; x < 5; ++x)
        a[y + x] = b[y + x] ^ (~b[y + (x + 1) % 5] & b[y + (x + 2) % 5]);
    a[0] ^= constant;
  }
}

void flip(Lanes& a, std::size_t at, std::uint8_t byte) {
  a[at / 8] ^= std::uint64_t{byte} << (8 * (at % 8));
}

}  // namespace

Digest keccak256(std::span<const std::uint8_t> message, std::uint8_t padding) {
  Lanes a{};
  for (std::size_t i = 0; i < message.size(); ++i) {
    flip(a, i % block_size, message[i]);
    if (i % block_size == block_size - 1) permute_lanes(a);
  }
  flip(a, message.size() % block_size, padding);
  flip(a, block_size - 1, 0x80);
  permute_lanes(a);
  Digest digest;
  for (std::size_t i = 0; i < digest.size(); ++i)
    digest[i] = static_cast<std::uint8_t>(a[i / 8] >> (8 * (i % 8)));
  return digest;
}

}  // namespace mgpu::merkle
