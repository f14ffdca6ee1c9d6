// The ntt suite on the host: arithmetic of its fields next to GMP, and what its reference finds.
#include <doctest/doctest.h>
#include <gmpxx.h>

#include <random>

#include "suites/ntt/problem.hpp"
#include "suites/ntt/reference.hpp"
#include "tests/support/suite_params.hpp"

namespace mgpu::ntt {
namespace {

mpz_class gmp(const Limbs& a) {
  mpz_class value;
  mpz_import(value.get_mpz_t(), a.size(), -1, sizeof a[0], 0, 0, a.data());
  return value;
}

template <class F>
mpz_class gmp_of(const typename F::Value& a) {
  return gmp(F::limbs(a));
}

// Returns a value from few kinds: small, just below the modulus, or any.
template <class F>
typename F::Value any(std::mt19937_64& random) {
  std::byte bytes[32];
  for (;;) {
    Limbs limbs{};
    switch (random() % 3) {
      case 0:
        limbs[0] = random() % 3;
        break;
      case 1:
        limbs = F::modulus;
        limbs[0] -= 1 + random() % 3;
        break;
      default:
        for (std::uint64_t& limb : limbs) limb = random();
    }
    std::memcpy(bytes, limbs.data(), sizeof bytes);
    const typename F::Value value = F::load(bytes);
    if (F::is_canonical(value)) return value;
  }
}

template <class F>
void compare_with_gmp() {
  const mpz_class p = gmp(F::modulus);
  CHECK(mpz_probab_prime_p(p.get_mpz_t(), 30) > 0);
  std::mt19937_64 random(3);
  for (int i = 0; i < 300; ++i) {
    const auto a = any<F>(random), b = any<F>(random);
    const mpz_class x = gmp_of<F>(a), y = gmp_of<F>(b);
    CHECK(gmp_of<F>(F::multiply(a, b)) == x * y % p);
    CHECK(gmp_of<F>(F::add(a, b)) == (x + y) % p);
    CHECK(gmp_of<F>(F::subtract(a, b)) == (x + p - y) % p);
  }
  CHECK(gmp_of<F>(F::multiply(inverse_of_power_of_two<F>(20), F::of(1 << 20))) == 1);
  const auto root = root_of_unity<F>(F::adicity, false);
  mpz_class half;
  mpz_powm(half.get_mpz_t(), gmp_of<F>(root).get_mpz_t(),
           mpz_class(mpz_class(1) << (F::adicity - 1)).get_mpz_t(), p.get_mpz_t());
  CHECK(half == p - 1);
  CHECK(F::multiply(root, root_of_unity<F>(F::adicity, true)) == F::of(1));
}

Problem problem_with(const test::Options& options, std::uint64_t n) {
  return problem_of(test::suite_params("ntt", n, options));
}

}  // namespace

TEST_CASE("ntt: arithmetic and roots of every field are those of GMP") {
  for (std::size_t i = 0; i < field_names.size(); ++i)
    with_field(static_cast<Field>(i), [](auto f) { compare_with_gmp<decltype(f)>(); });
}

TEST_CASE("ntt: passes cover every size, with at least as many rows as columns") {
  for (unsigned bits = 2; bits <= most_bits; ++bits) {
    const Problem problem = problem_with({}, std::uint64_t{1} << bits);
    unsigned sum = 0;
    for (const unsigned pass : problem.passes()) {
      sum += pass;
      CHECK((pass >= 1 && pass <= most_pass_bits));
    }
    CHECK(sum == bits);
    CHECK(problem.row_bits() >= problem.column_bits());
    const Items items = shape_of(problem).items;
    CHECK(items * problem.columns_per_item() == std::uint64_t{1} << problem.column_bits());
    CHECK(items * problem.rows_per_item() == std::uint64_t{1} << problem.row_bits());
  }
}

// The polynomial x: its value at w^k is w^k.
TEST_CASE("ntt: the reference knows the powers of a root, and finds an element that is off") {
  constexpr std::uint64_t n = 16;
  for (const char* order : {"nn", "nr", "rn"}) {
    const Problem problem = problem_with({{"field", "goldilocks"}, {"order", order}}, n);
    using F = Goldilocks;
    std::vector<std::byte> input(problem.bytes()), result(problem.bytes());
    F::store(input.data() + (problem.order.in_reversed ? 8 : 1) * F::bytes, 1);
    const std::uint64_t root = root_of_unity<F>(problem.bits, false);
    for (std::uint64_t k = 0; k < n; ++k) {
      const std::uint64_t reversed = (k & 1) << 3 | (k & 2) << 1 | (k >> 1 & 2) | k >> 3;
      F::store(result.data() + (problem.order.out_reversed ? reversed : k) * F::bytes,
               power<F>(root, Limbs{k, 0, 0, 0}));
    }
    for (const bool whole : {true, false}) {
      CAPTURE(whole);
      CHECK(check(problem, input, result, whole, 1, 1).message.empty());
      std::vector<std::byte> wrong = result;
      for (std::uint64_t k = whole ? n - 1 : 0; k < n; ++k) wrong[k * F::bytes] ^= std::byte{1};
      CHECK(check(problem, input, wrong, whole, 1, 1).message.find("expected: 0x") !=
            std::string::npos);
    }
  }
}

}  // namespace mgpu::ntt
