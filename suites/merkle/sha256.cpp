// SHA-256 as in FIPS 180-4, section 6.2. The constants are computed from their definitions
// (sections 4.2.2 and 5.3.3), so that no table is typed in a second time.
#include <algorithm>
#include <bit>
#include <cstring>

#include "suites/merkle/hash.hpp"

namespace mgpu::merkle {
namespace {

using State = std::array<std::uint32_t, 8>;

__extension__ using Wide = unsigned __int128;

// Returns the first 32 bits of the fractional part of the `root`th root of p, for p < 400:
// floor(2^32 * p^(1/root)) mod 2^32, by bisection.
constexpr std::uint32_t root_fraction(std::uint64_t p, unsigned root) {
  std::uint64_t low = 0, high = std::uint64_t{1} << 37;
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    const Wide square = static_cast<Wide>(middle) * middle;
    const bool below = root == 2 ? square <= static_cast<Wide>(p) << 64
                                 : square * middle <= static_cast<Wide>(p) << 96;
    (below ? low : high) = middle;
  }
  return static_cast<std::uint32_t>(low);
}

constexpr bool is_prime(unsigned n) {
  for (unsigned d = 2; d * d <= n; ++d) {
    if (n % d == 0) return false;
  }
  return n >= 2;
}

template <std::size_t N>
constexpr std::array<std::uint32_t, N> prime_roots(unsigned root) {
  std::array<std::uint32_t, N> out{};
  unsigned p = 2;
  for (std::uint32_t& x : out) {
    while (!is_prime(p)) ++p;
    x = root_fraction(p++, root);
  }
  return out;
}

constexpr auto round_constants = prime_roots<64>(3);
constexpr State initial_state = prime_roots<8>(2);
static_assert(round_constants[0] == 0x428a2f98 && round_constants[63] == 0xc67178f2 &&
              initial_state[7] == 0x5be0cd19);

std::uint32_t load_big_endian(const std::uint8_t* p) {
  return std::uint32_t{p[0]} << 24 | std::uint32_t{p[1]} << 16 | std::uint32_t{p[2]} << 8 | p[3];
}

void store_big_endian(std::uint8_t* p, std::uint32_t x) {
  for (int i = 0; i < 4; ++i) p[i] = static_cast<std::uint8_t>(x >> (24 - 8 * i));
}

void compress(State& state, const std::uint8_t* block) {
  std::array<std::uint32_t, 64> w;
  for (std::size_t i = 0; i < 16; ++i) w[i] = load_big_endian(block + 4 * i);
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t x = w[i - 15], y = w[i - 2];
    w[i] = w[i - 16] + (std::rotr(x, 7) ^ std::rotr(x, 18) ^ x >> 3) + w[i - 7] +
           (std::rotr(y, 17) ^ std::rotr(y, 19) ^ y >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t t1 = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                             ((e & f) ^ (~e & g)) + round_constants[i] + w[i];
    const std::uint32_t t2 =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1;
    d = c, c = b, b = a, a = t1 + t2;
  }
  const State out{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state[i] += out[i];
}

}  // namespace

Digest sha256(std::span<const std::uint8_t> message) {
  State state = initial_state;
  std::size_t done = 0;
  for (; message.size() - done >= 64; done += 64) compress(state, message.data() + done);
  std::array<std::uint8_t, 128> tail{};
  const std::size_t rest = message.size() - done;
  std::copy(message.begin() + static_cast<std::ptrdiff_t>(done), message.end(), tail.begin());
  tail[rest] = 0x80;
  const std::size_t end = rest < 56 ? 64 : 128;
  const std::uint64_t bits = std::uint64_t{message.size()} * 8;
  store_big_endian(tail.data() + end - 8, static_cast<std::uint32_t>(bits >> 32));
  store_big_endian(tail.data() + end - 4, static_cast<std::uint32_t>(bits));
  for (std::size_t i = 0; i < end; i += 64) compress(state, tail.data() + i);
  Digest digest;
  for (std::size_t i = 0; i < 8; ++i) store_big_endian(digest.data() + 4 * i, state[i]);
  return digest;
}

}  // namespace mgpu::merkle
