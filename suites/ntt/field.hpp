// The prime fields of the suite, and arithmetic in them on the host by plain 64- and 128-bit
// integers. It shares no code with the kernels; tests compare it with GMP.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "lib/base/units.hpp"

namespace mgpu::ntt {

enum class Field { babybear, koalabear, goldilocks, bn254, bls12_381 };
inline constexpr std::array<std::string_view, 5> field_names{"babybear", "koalabear", "goldilocks",
                                                             "bn254", "bls12_381"};

__extension__ typedef unsigned __int128 Wide;
using Limbs = std::array<std::uint64_t, 4>;  // least significant first

// A field of one word: p < 2^64. Values are below p.
template <std::uint64_t P, std::uint64_t Generator, unsigned Adicity, class Word_>
struct WordField {
  using Value = std::uint64_t;
  using Word = Word_;  // of files and of devices
  static constexpr Bytes bytes = sizeof(Word);
  static constexpr unsigned adicity = Adicity;
  static constexpr std::uint64_t generator = Generator;
  static constexpr Limbs modulus{P, 0, 0, 0};
  // Bits of the R of the kernels' factors, which are R times their value; 0: R is 1.
  static constexpr unsigned factor_bits = sizeof(Word) == 4 ? 32 : 0;

  static constexpr Value of(std::uint64_t x) { return x % P; }
  static constexpr Value add(Value a, Value b) { return subtract(a, P - b); }
  // Adds P by a mask: a branch would be mispredicted every other time.
  static constexpr Value subtract(Value a, Value b) {
    return a - b + (P & (0 - static_cast<Value>(a < b)));
  }
  static constexpr Value multiply(Value a, Value b) {
    if constexpr (P >> 32 == 0) return a * b % P;
    return static_cast<Value>(static_cast<Wide>(a) * b % P);
  }
  static constexpr Limbs limbs(Value a) { return {a, 0, 0, 0}; }
  static constexpr bool is_canonical(Value a) { return a < P; }
  static Value load(const std::byte* from) {
    Word word;
    std::memcpy(&word, from, sizeof word);
    return word;
  }
  static void store(std::byte* to, Value a) {
    const Word word = static_cast<Word>(a);
    std::memcpy(to, &word, sizeof word);
  }
};

using BabyBear = WordField<0x78000001, 31, 27, std::uint32_t>;
using KoalaBear = WordField<0x7f000001, 3, 24, std::uint32_t>;
using Goldilocks = WordField<0xffffffff00000001, 7, 32, std::uint64_t>;

// A field of four words.
template <class Constants>
struct LimbField {
  using Value = Limbs;
  static constexpr Bytes bytes = 32;
  static constexpr unsigned adicity = Constants::adicity, factor_bits = 256;
  static constexpr std::uint64_t generator = Constants::generator;
  static constexpr Limbs modulus = Constants::modulus;

  static constexpr Value of(std::uint64_t x) { return {x, 0, 0, 0}; }
  static constexpr bool is_canonical(const Value& a) { return less(a, modulus); }
  static constexpr Value add(const Value& a, const Value& b) {
    Value sum{};
    Wide carry = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      carry += static_cast<Wide>(a[i]) + b[i];
      sum[i] = static_cast<std::uint64_t>(carry);
      carry >>= 64;
    }
    return is_canonical(sum) ? sum : difference(sum, modulus);
  }
  static constexpr Value subtract(const Value& a, const Value& b) {
    return less(a, b) ? add(difference(a, b), Value{}, modulus) : difference(a, b);
  }
  // Multiplies to 512 bits and reduces twice by Montgomery's method, the second time after a
  // product with 2^512 mod p.
  static constexpr Value multiply(const Value& a, const Value& b) {
    return reduced(reduced(a, b), kSquare);
  }
  static constexpr Limbs limbs(const Value& a) { return a; }
  static Value load(const std::byte* from) {
    Value value;
    std::memcpy(value.data(), from, bytes);
    return value;
  }
  static void store(std::byte* to, const Value& a) { std::memcpy(to, a.data(), bytes); }

  static constexpr bool less(const Value& a, const Value& b) {
    for (std::size_t i = 4; i-- > 0;)
      if (a[i] != b[i]) return a[i] < b[i];
    return false;
  }
  // Returns -1/p modulo 2^64.
  static constexpr std::uint64_t minus_inverse() {
    std::uint64_t x = 1;  // Newton's method: the number of correct bits doubles
    for (int i = 0; i < 6; ++i) x *= 2 - modulus[0] * x;
    return 0 - x;
  }

 private:
  static constexpr Value add(const Value& a, const Value& b, const Value& c) {
    Value sum{};
    Wide carry = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      carry += static_cast<Wide>(a[i]) + b[i] + c[i];
      sum[i] = static_cast<std::uint64_t>(carry);
      carry >>= 64;
    }
    return sum;
  }
  static constexpr Value difference(const Value& a, const Value& b) {  // modulo 2^256
    Value out{};
    std::uint64_t borrow = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const Wide t = static_cast<Wide>(a[i]) - b[i] - borrow;
      out[i] = static_cast<std::uint64_t>(t);
      borrow = static_cast<std::uint64_t>(t >> 64) & 1;
    }
    return out;
  }
  // Returns a b / 2^256.
  static constexpr Value reduced(const Value& a, const Value& b) {
    std::array<std::uint64_t, 8> t{};
    for (std::size_t i = 0; i < 4; ++i) {
      Wide carry = 0;
      for (std::size_t j = 0; j < 4; ++j) {
        carry += static_cast<Wide>(a[i]) * b[j] + t[i + j];
        t[i + j] = static_cast<std::uint64_t>(carry);
        carry >>= 64;
      }
      t[i + 4] = static_cast<std::uint64_t>(carry);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      const std::uint64_t m = t[i] * minus_inverse();
      Wide carry = 0;
      for (std::size_t j = 0; j < 4; ++j) {
        carry += static_cast<Wide>(m) * modulus[j] + t[i + j];
        t[i + j] = static_cast<std::uint64_t>(carry);
        carry >>= 64;
      }
      for (std::size_t j = i + 4; j < 8; ++j) {
        carry += t[j];
        t[j] = static_cast<std::uint64_t>(carry);
        carry >>= 64;
      }
    }
    const Value high{t[4], t[5], t[6], t[7]};
    return is_canonical(high) ? high : difference(high, modulus);
  }
  static constexpr Value power_of_two(unsigned exponent) {
    Value value{1, 0, 0, 0};
    for (unsigned i = 0; i < exponent; ++i) value = add(value, value);
    return value;
  }
  static constexpr Value kSquare = power_of_two(512);
};

// Groth16's and PLONK's fields: the orders of the curves' groups.
struct Bn254Constants {
  static constexpr unsigned adicity = 28;
  static constexpr std::uint64_t generator = 5;
  static constexpr Limbs modulus{0x43e1f593f0000001, 0x2833e84879b97091, 0xb85045b68181585d,
                                 0x30644e72e131a029};
};
struct Bls12381Constants {
  static constexpr unsigned adicity = 32;
  static constexpr std::uint64_t generator = 7;
  static constexpr Limbs modulus{0xffffffff00000001, 0x53bda402fffe5bfe, 0x3339d80809a1d805,
                                 0x73eda753299d7d48};
};
using Bn254 = LimbField<Bn254Constants>;
using Bls12381 = LimbField<Bls12381Constants>;

// Calls use with an object of the field's type.
template <class Use>
auto with_field(Field field, const Use& use) {
  switch (field) {
    case Field::babybear:
      return use(BabyBear{});
    case Field::koalabear:
      return use(KoalaBear{});
    case Field::goldilocks:
      return use(Goldilocks{});
    case Field::bn254:
      return use(Bn254{});
    default:
      return use(Bls12381{});
  }
}

inline Bytes bytes_of(Field field) {
  return with_field(field, [](auto f) { return decltype(f)::bytes; });
}

template <class F>
constexpr typename F::Value power(typename F::Value base, Limbs exponent) {
  typename F::Value result = F::of(1);
  for (unsigned i = 256; i-- > 0;) {
    result = F::multiply(result, result);
    if ((exponent[i / 64] >> (i % 64) & 1) != 0) result = F::multiply(result, base);
  }
  return result;
}

// Returns generator^((p - 1) / 2^bits), of order 2^bits, or its inverse.
template <class F>
typename F::Value root_of_unity(unsigned bits, bool inverse) {
  Limbs exponent = F::modulus;  // odd, so that p - 1 shifted is p shifted
  for (unsigned i = 0; i < bits; ++i)
    for (std::size_t j = 0; j < 4; ++j)
      exponent[j] = exponent[j] >> 1 | (j + 1 < 4 ? exponent[j + 1] << 63 : 0);
  if (bits == 0) return F::of(1);
  const typename F::Value root = power<F>(F::of(F::generator), exponent);
  return inverse ? power<F>(root, Limbs{(std::uint64_t{1} << bits) - 1, 0, 0, 0}) : root;
}

// Returns 1/2^bits.
template <class F>
typename F::Value inverse_of_power_of_two(unsigned bits) {
  Limbs exponent = F::modulus;
  exponent[0] -= 2;  // Fermat's little theorem; no modulus needs a borrow
  return power<F>(F::of(std::uint64_t{1} << bits), exponent);
}

}  // namespace mgpu::ntt
