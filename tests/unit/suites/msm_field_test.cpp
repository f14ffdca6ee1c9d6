// The host's field and whole numbers against GMP.
#include <doctest/doctest.h>
#include <gmpxx.h>

#include <random>

#include "suites/msm/field.hpp"
#include "suites/msm/kernel_options.hpp"

using namespace mgpu::msm;

namespace {

template <std::size_t N>
mpz_class gmp(const Limbs<N>& a) {
  return mpz_class(to_hex(a), 16);
}

template <class C>
Limbs<C::limbs> random_value(std::mt19937_64& random) {
  Limbs<C::limbs> value;
  for (std::uint64_t& limb : value) limb = random();
  value.back() %= C::modulus.back();
  return value;
}

template <class C>
void check_field() {
  const mpz_class p = gmp(C::modulus), r = mpz_class(1) << (64 * C::limbs);
  CHECK(mpz_probab_prime_p(p.get_mpz_t(), 30) > 0);
  CHECK(mpz_probab_prime_p(gmp(C::order).get_mpz_t(), 30) > 0);
  CHECK((gmp(C::y) * gmp(C::y) - gmp(C::x) * gmp(C::x) * gmp(C::x) - C::b) % p == 0);
  std::mt19937_64 random(7);
  Limbs<C::limbs> zero{}, one{};
  one[0] = 1;
  std::uint64_t borrow = 0;
  std::vector<Limbs<C::limbs>> values{zero, one, subtract(C::modulus, one, borrow)};
  for (int i = 0; i < 60; ++i) values.push_back(random_value<C>(random));
  for (const auto& a : values) {
    const auto x = Fp<C>::from_plain(a);
    CHECK(x.plain() == a);
    CHECK(gmp(x.montgomery()) == gmp(a) * r % p);
    CHECK(gmp((-x).plain()) == (p - gmp(a)) % p);
    if (!x.zero()) CHECK((x * x.inverse()) == Fp<C>::one());
    for (const auto& b : values) {
      const auto y = Fp<C>::from_plain(b);
      CHECK(gmp((x * y).plain()) == gmp(a) * gmp(b) % p);
      CHECK(gmp((x + y).plain()) == (gmp(a) + gmp(b)) % p);
      CHECK(gmp((x - y).plain()) == (gmp(a) + p - gmp(b)) % p);
    }
  }
}

}  // namespace

TEST_CASE("the field of BN254 does as GMP does") { check_field<Bn254>(); }
TEST_CASE("the field of BLS12-381 does as GMP does") { check_field<Bls12381>(); }

TEST_CASE("hexadecimal numbers are read whole or not at all") {
  CHECK(parse_hex<4>("0xFf") == Scalar{255, 0, 0, 0});
  CHECK(parse_hex<4>("0") == Scalar{});
  CHECK(parse_hex<4>("0x" + std::string(70, '0') + "1") == Scalar{1, 0, 0, 0});
  CHECK(parse_hex<4>(std::string(64, 'f')).has_value());
  for (const char* bad : {"", "0x", "12g", " 1", "-1", "0x0x1"})
    CHECK_FALSE(parse_hex<4>(bad).has_value());
  CHECK_FALSE(parse_hex<4>("1" + std::string(64, '0')).has_value());
  CHECK(to_hex(Scalar{0xabc, 0, 0, 0}) == std::string(61, '0') + "abc");
}

TEST_CASE("the kernels' constants are those of the curve") {
  const std::string options = field_options(Curve::bn254, false, false);
  CHECK(options.find("-DLIMBS=8 ") != std::string::npos);
  CHECK(options.find(" -DP0=0xd87cfd47u") != std::string::npos);
  CHECK(options.find(" -DP7=0x30644e72u") != std::string::npos);
  CHECK(options.find(" -DD7=0x60c89ce5u") != std::string::npos);
  CHECK(options.find(" -DP_INVERSE=0xe4866389u") !=
        std::string::npos);  // EIP-196 implementations: -1/p mod 2^32
  CHECK(scalar_options(Curve::bn254, false, true) == "-DMSM_ROLLED");
}
