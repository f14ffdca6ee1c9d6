// Integers of a fixed number of 64-bit limbs, least significant first: the basis of host arithmetic
// and parsing. Pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace mgpu::msm {

template <std::size_t N>
using Limbs = std::array<std::uint64_t, N>;
using Scalar = Limbs<4>;

__extension__ typedef unsigned __int128 Wide;

// Returns a + b modulo 2^(64 N); the carry is 0 or 1.
template <std::size_t N>
constexpr Limbs<N> add(const Limbs<N>& a, const Limbs<N>& b, std::uint64_t& carry) {
  Limbs<N> sum{};
  Wide t = 0;
  for (std::size_t i = 0; i < N; ++i) {
    t += static_cast<Wide>(a[i]) + b[i];
    sum[i] = static_cast<std::uint64_t>(t);
    t >>= 64;
  }
  carry = static_cast<std::uint64_t>(t);
  return sum;
}

// Returns a - b modulo 2^(64 N); `borrow` is 1 if a < b.
template <std::size_t N>
constexpr Limbs<N> subtract(const Limbs<N>& a, const Limbs<N>& b, std::uint64_t& borrow) {
  Limbs<N> difference{};
  borrow = 0;
  for (std::size_t i = 0; i < N; ++i) {
    const Wide t = static_cast<Wide>(a[i]) - b[i] - borrow;
    difference[i] = static_cast<std::uint64_t>(t);
    borrow = static_cast<std::uint64_t>(t >> 64) & 1;
  }
  return difference;
}

template <std::size_t N>
constexpr bool less(const Limbs<N>& a, const Limbs<N>& b) {
  std::uint64_t borrow = 0;
  subtract(a, b, borrow);
  return borrow != 0;
}

template <std::size_t N>
constexpr bool is_zero(const Limbs<N>& a) {
  std::uint64_t any = 0;
  for (const std::uint64_t limb : a) any |= limb;
  return any == 0;
}

template <std::size_t N>
constexpr bool bit(const Limbs<N>& a, std::size_t i) {
  return (a[i / 64] >> (i % 64) & 1) != 0;
}

constexpr int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// Parses "0x1f" or "1f" in either case, with at least one digit. Returns nothing for other texts
// and for numbers that do not fit.
template <std::size_t N>
constexpr std::optional<Limbs<N>> parse_hex(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  if (text.empty()) return std::nullopt;
  Limbs<N> value{};
  for (const char c : text) {
    const int digit = hex_digit(c);
    if (digit < 0 || value[N - 1] >> 60 != 0) return std::nullopt;
    for (std::size_t i = N; i-- > 1;) value[i] = value[i] << 4 | value[i - 1] >> 60;
    value[0] = value[0] << 4 | static_cast<std::uint64_t>(digit);
  }
  return value;
}

// Parses a number of a file: decimal, or hexadecimal with 0x or 0X, in either case. A decimal
// number of several digits must not begin with 0, since it may be hexadecimal with a forgotten 0x.
// Returns nothing for other texts and for numbers that do not fit.
template <std::size_t N>
constexpr std::optional<Limbs<N>> parse_number(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) return parse_hex<N>(text);
  if (text.empty() || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  Limbs<N> value{};
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    Wide carry = static_cast<Wide>(c - '0');
    for (std::uint64_t& limb : value) {
      carry += static_cast<Wide>(limb) * 10;
      limb = static_cast<std::uint64_t>(carry);
      carry >>= 64;
    }
    if (carry != 0) return std::nullopt;
  }
  return value;
}

// Reads at most 8 N bytes as a number, most significant byte first.
template <std::size_t N>
constexpr Limbs<N> from_big_endian(std::span<const std::byte> bytes) {
  Limbs<N> value{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::size_t place = bytes.size() - 1 - i;
    value[place / 8] |= std::to_integer<std::uint64_t>(bytes[i]) << (place % 8 * 8);
  }
  return value;
}

// Returns all 16 N digits in lower case, without 0x.
template <std::size_t N>
std::string to_hex(const Limbs<N>& value) {
  std::string text;
  for (std::size_t nibble = 16 * N; nibble-- > 0;)
    text += "0123456789abcdef"[value[nibble / 16] >> (nibble % 16 * 4) & 15];
  return text;
}

// Parses the constants of curve.hpp; does not compile if the text is not a number.
template <std::size_t N>
consteval Limbs<N> number(std::string_view hex) {
  return parse_hex<N>(hex).value();
}

}  // namespace mgpu::msm
