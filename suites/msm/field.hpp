// Field arithmetic on the host: 64-bit limbs, Montgomery form with the same R as the kernels (2^256, 2^384), always below the
// modulus. Shares no code with the kernels; that both agree is tested, and so is this against GMP.
#pragma once

#include "suites/msm/curve.hpp"

namespace mgpu::msm {

template <class C>
class Fp {
 public:
  static constexpr std::size_t N = C::limbs;
  using Plain = Limbs<N>;

  constexpr Fp() = default;  // zero
  static constexpr Fp from_plain(const Plain& plain) { return Fp(plain) * Fp(kSquare); }
  static constexpr Fp from_montgomery(const Plain& limbs) { return Fp(limbs); }  // below the modulus
  static constexpr Fp one() { return Fp(kOne); }
  constexpr Plain plain() const {
    Plain unit{};
    unit[0] = 1;
    return (*this * Fp(unit)).limbs_;
  }
  constexpr const Plain& montgomery() const { return limbs_; }
  constexpr bool zero() const { return is_zero(limbs_); }
  constexpr bool operator==(const Fp&) const = default;

  friend constexpr Fp operator+(const Fp& a, const Fp& b) {
    std::uint64_t carry = 0;  // never: both moduli leave spare bits
    return Fp(below_modulus(add(a.limbs_, b.limbs_, carry)));
  }
  friend constexpr Fp operator-(const Fp& a, const Fp& b) {
    std::uint64_t borrow = 0, carry = 0;
    const Plain difference = subtract(a.limbs_, b.limbs_, borrow);
    return Fp(borrow != 0 ? add(difference, C::modulus, carry) : difference);
  }
  constexpr Fp operator-() const { return Fp() - *this; }

  // Operand scanning, the product first and then its reduction interleaved by limbs of b (Koc, Acar, Kaliski, 1996: CIOS).
  friend constexpr Fp operator*(const Fp& a, const Fp& b) {
    std::array<std::uint64_t, N + 1> t{};
    for (std::size_t i = 0; i < N; ++i) {
      Wide carry = 0;
      for (std::size_t j = 0; j < N; ++j) {
        carry += static_cast<Wide>(a.limbs_[j]) * b.limbs_[i] + t[j];
        t[j] = static_cast<std::uint64_t>(carry);
        carry >>= 64;
      }
      t[N] += static_cast<std::uint64_t>(carry);
      const std::uint64_t m = t[0] * kInverse;
      carry = (static_cast<Wide>(m) * C::modulus[0] + t[0]) >> 64;
      for (std::size_t j = 1; j < N; ++j) {
        carry += static_cast<Wide>(m) * C::modulus[j] + t[j];
        t[j - 1] = static_cast<std::uint64_t>(carry);
        carry >>= 64;
      }
      carry += t[N];
      t[N - 1] = static_cast<std::uint64_t>(carry);
      t[N] = static_cast<std::uint64_t>(carry >> 64);
    }
    Plain r{};
    for (std::size_t i = 0; i < N; ++i) r[i] = t[i];
    return Fp(below_modulus(r));
  }

  // By Fermat: about 380 squarings and 200 products. Of zero: zero.
  constexpr Fp inverse() const {
    Plain two{};
    two[0] = 2;
    std::uint64_t borrow = 0;
    const Plain exponent = subtract(C::modulus, two, borrow);
    Fp result = one();
    for (std::size_t i = 64 * N; i-- > 0;) {
      result = result * result;
      if (bit(exponent, i)) result = result * *this;
    }
    return result;
  }

  static constexpr Plain below_modulus(const Plain& a) {  // of a < 2 p
    std::uint64_t borrow = 0;
    const Plain less_p = subtract(a, C::modulus, borrow);
    return borrow != 0 ? a : less_p;
  }
  // -1/p modulo 2^64 and R mod p, for the kernels' constants too.
  static constexpr std::uint64_t minus_inverse() { return kInverse; }

 private:
  explicit constexpr Fp(const Plain& limbs) : limbs_(limbs) {}

  static constexpr std::uint64_t find_inverse() {
    std::uint64_t x = 1;  // Newton: the number of right bits doubles
    for (int i = 0; i < 6; ++i) x *= 2 - C::modulus[0] * x;
    return 0 - x;
  }
  static constexpr Plain power_of_two(std::size_t exponent) {  // mod p
    Plain value{};
    value[0] = 1;
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < exponent; ++i) value = below_modulus(add(value, value, carry));
    return value;
  }
  static constexpr std::uint64_t kInverse = find_inverse();
  static constexpr Plain kOne = power_of_two(64 * N), kSquare = power_of_two(128 * N);

  Plain limbs_{};
};

}  // namespace mgpu::msm
