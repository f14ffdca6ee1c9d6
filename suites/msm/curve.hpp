// The curves: y^2 = x^3 + b over a prime field, with a subgroup of prime order r. Only constants;
// the host's arithmetic is in field.hpp and point.hpp, that of devices in kernels/msm_field.cl and
// msm_curve.cl.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "suites/msm/limbs.hpp"

namespace mgpu::msm {

enum class Curve { bn254, bls12_381 };
constexpr std::array<std::string_view, 2> curve_names{"bn254", "bls12_381"};

// EIP-196 (alt_bn128). The curve has r points: every point is in the subgroup.
struct Bn254 {
  static constexpr Curve curve = Curve::bn254;
  static constexpr bool whole_curve = true;         // the subgroup is the whole curve
  static constexpr std::size_t encoded_bytes = 64;  // size of a point as EIP-196 encodes it
  static constexpr std::size_t limbs = 4;
  static constexpr std::uint64_t b = 3;
  static constexpr unsigned order_bits = 254;
  static constexpr auto modulus =
      number<4>("30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47");
  static constexpr auto order =
      number<4>("30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001");
  static constexpr auto x = number<4>("1"), y = number<4>("2");
};

// draft-irtf-cfrg-pairing-friendly-curves-11, 4.2.1: G1. The cofactor is
// 0x396c8c005555e1568c00aaab0000aaab.
struct Bls12381 {
  static constexpr Curve curve = Curve::bls12_381;
  static constexpr bool whole_curve = false;
  static constexpr std::size_t encoded_bytes = 128;  // size of a point as EIP-2537 encodes it
  static constexpr std::size_t limbs = 6;
  static constexpr std::uint64_t b = 4;
  static constexpr unsigned order_bits = 255;
  static constexpr auto modulus = number<6>(
      "1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffff"
      "aaab");
  static constexpr auto order =
      number<4>("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001");
  static constexpr auto x = number<6>(
      "17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22"
      "c6bb");
  static constexpr auto y = number<6>(
      "08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5"
      "e7e1");
  // Parameters of the family: r = u^4 - u^2 + 1 with negative u, and the cube root of 1 in the
  // field with (beta x, y) = -u^2 (x, y) for points of the subgroup.
  static constexpr std::uint64_t minus_u = 0xd201000000010000;
  static constexpr auto beta =
      number<6>("5f19672fdf76ce51ba69c6076a0f77eaddb3a93be6f89688de17d813620a00022e01fffffffefffe");
};

// Calls use(Bn254{}) or use(Bls12381{}).
template <class Use>
auto with_curve(Curve curve, const Use& use) {
  return curve == Curve::bn254 ? use(Bn254{}) : use(Bls12381{});
}

inline Scalar order_of(Curve curve) {
  return with_curve(curve, [](auto c) { return decltype(c)::order; });
}
inline unsigned order_bits_of(Curve curve) {
  return with_curve(curve, [](auto c) { return decltype(c)::order_bits; });
}
inline std::size_t field_bytes(Curve curve) {
  return with_curve(curve, [](auto c) { return decltype(c)::limbs * 8; });
}
inline bool subgroup_is_whole_curve(Curve curve) {
  return with_curve(curve, [](auto c) { return decltype(c)::whole_curve; });
}
inline std::size_t encoded_bytes(Curve curve) {
  return with_curve(curve, [](auto c) { return decltype(c)::encoded_bytes; });
}
inline std::size_t affine_bytes(Curve curve) { return 2 * field_bytes(curve); }
inline std::size_t sum_bytes(Curve curve) { return 4 * field_bytes(curve); }

}  // namespace mgpu::msm
