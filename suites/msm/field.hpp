// Field arithmetic on the host: 64-bit limbs in Montgomery form with the same R as the kernels
// (2^256, 2^384), always below the modulus. It shares no code with the kernels; tests compare it
// with them and with GMP.
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
  // Requires limbs below the modulus.
  static constexpr Fp from_montgomery(const Plain& limbs) { return Fp(limbs); }
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
    std::uint64_t carry = 0;  // always 0: both moduli leave spare bits
    return Fp(below_modulus(add(a.limbs_, b.limbs_, carry)));
  }
  friend constexpr Fp operator-(const Fp& a, const Fp& b) {
    std::uint64_t borrow = 0, carry = 0;
    const Plain difference = subtract(a.limbs_, b.limbs_, borrow);
    return Fp(borrow != 0 ? add(difference, C::modulus, carry) : difference);
  }
  constexpr Fp operator-() const { return Fp() - *this; }

  // Multiplies and reduces limb by limb (Koc, Acar, Kaliski, 1996: CIOS). Two spare bits in the
  // modulus keep the running sum within N limbs. The pragmas unroll the loops, which -O2 does not:
  // 43 ns instead of 60 (BN254). Not inlined: the call costs nothing measurable, and inlining takes
  // g++ 12 33 s instead of 4 to compile host_points.cpp.
  [[gnu::noinline]] friend constexpr Fp operator*(const Fp& a, const Fp& b) {
    static_assert(C::modulus[N - 1] >> 62 == 0);
    Plain t{};
#pragma GCC unroll 6
    for (std::size_t i = 0; i < N; ++i) {
      Wide product = static_cast<Wide>(a.limbs_[0]) * b.limbs_[i] + t[0];
      const std::uint64_t m = static_cast<std::uint64_t>(product) * kInverse;
      Wide reduced = static_cast<Wide>(m) * C::modulus[0] + static_cast<std::uint64_t>(product);
#pragma GCC unroll 6
      for (std::size_t j = 1; j < N; ++j) {
        product = static_cast<Wide>(a.limbs_[j]) * b.limbs_[i] + t[j] +
                  static_cast<std::uint64_t>(product >> 64);
        reduced = static_cast<Wide>(m) * C::modulus[j] + static_cast<std::uint64_t>(product) +
                  static_cast<std::uint64_t>(reduced >> 64);
        t[j - 1] = static_cast<std::uint64_t>(reduced);
      }
      t[N - 1] =
          static_cast<std::uint64_t>(product >> 64) + static_cast<std::uint64_t>(reduced >> 64);
    }
    return Fp(below_modulus(t));
  }

  // Inverts by Fermat's little theorem: about 260 squarings and 130 products for BN254, 380 and 200
  // for BLS12-381. Returns zero for zero.
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

  static constexpr Plain below_modulus(const Plain& a) {  // requires a < 2 p
    std::uint64_t borrow = 0;
    const Plain less_p = subtract(a, C::modulus, borrow);
    return borrow != 0 ? a : less_p;
  }
  // Returns -1/p modulo 2^64, which the kernels need, too.
  static constexpr std::uint64_t minus_inverse() { return kInverse; }

 private:
  explicit constexpr Fp(const Plain& limbs) : limbs_(limbs) {}

  static constexpr std::uint64_t find_inverse() {
    std::uint64_t x = 1;  // Newton's method: the number of correct bits doubles
    for (int i = 0; i < 6; ++i) x *= 2 - C::modulus[0] * x;
    return 0 - x;
  }
  static constexpr Plain power_of_two(std::size_t exponent) {  // modulo p
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
