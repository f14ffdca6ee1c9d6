// Host parts of the msm suite: points and references against OpenSSL, windows that cover scalars
// and weight their sums.
#include <doctest/doctest.h>

#include "suites/msm/field.hpp"
#include "suites/msm/msm_workload.hpp"
#include "suites/msm/reference.hpp"
#include "tests/support/msm_terms.hpp"
#include "tests/support/refusal.hpp"

using namespace mgpu;
using namespace mgpu::msm;
using mgpu::test::has;
using mgpu::testing::OracleTerm;

namespace {

constexpr Curve curves[] = {Curve::bn254, Curve::bls12_381};

// One term with the point given as a file gives it.
Terms one_term(Curve curve, const std::string& x, const std::string& y, const Scalar& scalar) {
  Terms terms(curve, 1);
  CHECK_FALSE(host_points(curve).parse(x, y, terms.point(0)).has_value());
  terms.take_scalars({scalar});
  return terms;
}

}  // namespace

TEST_CASE(
    "points made from a seed are the multiples they are said to be, and both references agree with "
    "OpenSSL's sum of all terms") {
  for (const Curve curve : curves) {
    for (const std::uint64_t count : {0, 1, 2, 33}) {
      for (const Scalars scalars : {Scalars::uniform, Scalars::witness, Scalars::equal}) {
        const Terms terms = Terms::random(curve, count, scalars, 5, 2);
        const PlainPoint expected = testing::expected_sum(curve, testing::text_of(terms));
        CHECK(reference_sum(curve, terms.scalars(), *terms.logs()) == expected);
        CHECK(host_points(curve).multiply(terms.point_bytes(0, count), terms.scalars(), 2) ==
              expected);
      }
    }
  }
}

TEST_CASE("points of later blocks continue the row of multiples, whatever the number of threads") {
  const Terms one = Terms::random(Curve::bn254, 2100, Scalars::witness, 9, 1);
  const Terms three = Terms::random(Curve::bn254, 2100, Scalars::witness, 9, 3);
  CHECK(std::equal(one.memory().begin(), one.memory().end(), three.memory().begin(),
                   three.memory().end()));
  CHECK(reference_sum(Curve::bn254, one.scalars(), *one.logs()) ==
        host_points(Curve::bn254).multiply(one.point_bytes(0, 2100), one.scalars(), 2));
}

TEST_CASE(
    "the host's Pippenger agrees with OpenSSL on difficult terms, points outside the subgroup "
    "among them") {
  for (const Curve curve : curves) {
    const auto list = testing::difficult_terms(curve, 60, 3);
    const Terms terms = testing::terms_of(curve, list);
    CHECK(host_points(curve).multiply(terms.point_bytes(0, terms.count()), terms.scalars(), 1) ==
          testing::expected_sum(curve, list));
  }
}

TEST_CASE("windows cover every scalar with the bit their sign needs, folded or not") {
  for (const Curve curve : curves) {
    for (unsigned bits = least_window; bits <= largest_window; ++bits) {
      const Windows folded = windows_of(curve, true, bits), plain = windows_of(curve, false, bits);
      for (const Windows& windows : {folded, plain}) {
        const unsigned needed = order_bits_of(curve) + (windows == folded ? 0 : 1);
        CHECK((windows.count - 1) * bits < needed);
        CHECK(windows.first_bit(windows.count) == needed);
        std::uint64_t buckets = 0;
        for (unsigned w = 0; w < windows.count; ++w) {
          CHECK(windows.first_bit(w) + windows.bits_of(w) == windows.first_bit(w + 1));
          CHECK(windows.bits_of(w) >= 1);
          CHECK(windows.bits_of(w) <= bits);
          CHECK(windows.bits_of(w) + 1 >= windows.bits_of(0));
          CHECK(windows.reached(windows.first_bit(w)) == w);
          CHECK(windows.reached(windows.first_bit(w) + 1) == w + 1);
          buckets += std::uint64_t{1} << (windows.bits_of(w) - 1);
        }
        CHECK(windows.used_buckets() == buckets);
        CHECK(windows.fewest_buckets() == std::uint64_t{1}
                                              << (windows.bits_of(windows.count - 1) - 1));
      }
    }
  }
}

TEST_CASE("a window's sums are weighted by where its bits are") {
  for (const Curve curve : curves) {
    const HostPoints& host = host_points(curve);
    const std::size_t affine = affine_bytes(curve), sum = sum_bytes(curve);
    const std::vector<std::byte> ones = with_curve(curve, [](auto c) {
      const auto one = Fp<decltype(c)>::one().montgomery();
      const auto bytes = std::as_bytes(std::span(one));
      std::vector<std::byte> both(bytes.begin(), bytes.end());
      both.insert(both.end(), bytes.begin(), bytes.end());
      return both;
    });
    for (const unsigned bits : {2u, 9u, 16u}) {
      const Windows windows = windows_of(curve, true, bits);
      for (const auto& [first, last] :
           {std::pair{0u, windows.count}, std::pair{windows.count / 2, windows.count},
            std::pair{1u, 2u}}) {
        // As kernels leave them: sums 0 and 1 of a window have its own weight, sum i twice that of
        // sum i - 1; a narrow window's last is infinity, here all zeros.
        std::vector<std::byte> points((last - first) * windows.bits * affine),
            sums((last - first) * windows.bits * sum);
        host.multiples(points, Scalar{5, 0, 0, 0}, Scalar{7, 0, 0, 0}, 1);
        std::vector<Scalar> weights((last - first) * windows.bits);
        for (unsigned w = first; w < last; ++w) {
          for (unsigned i = 0; i < windows.bits_of(w); ++i) {
            const std::size_t at = (w - first) * windows.bits + i;
            const unsigned weight = windows.first_bit(w) + (i == 0 ? 0 : i - 1);
            weights[at][weight / 64] = std::uint64_t{1} << weight % 64;
            std::copy_n(points.begin() + static_cast<std::ptrdiff_t>(at * affine), affine,
                        sums.begin() + static_cast<std::ptrdiff_t>(at * sum));
            std::copy_n(ones.begin(), ones.size(),
                        sums.begin() + static_cast<std::ptrdiff_t>(at * sum + affine));
          }
        }
        const PlainPoint expected = host.multiply(points, weights, 1);
        CHECK(host.affine(host.weighted(sums, windows, first, windows.bits)) == expected);
        // A window's own sum is what it has as the lowest one.
        SumBytes own;
        for (unsigned w = 0; w < last - first; ++w) {
          const SumBytes one =
              host.weighted(std::span(sums).subspan(w * windows.bits * sum, windows.bits * sum),
                            windows, 0, windows.bits);
          own.insert(own.end(), one.begin(), one.end());
        }
        CHECK(host.affine(host.weighted(own, windows, first, 1)) == expected);
      }
    }
  }
}

TEST_CASE("a point is in the subgroup where the order times it is infinity, as OpenSSL has it") {
  const Curve curve = Curve::bls12_381;
  const auto multiple = [&](const Scalar& scalar, const OracleTerm& p) {
    return testing::oracle(curve).sum({{to_hex(scalar), p.x, p.y}});
  };
  Scalar r_less_1 = order_of(curve);
  r_less_1[0] -= 1;
  std::vector<OracleTerm> points{{"1", "0", "0"}, {"1", "0", "2"}};  // infinity; of order 3
  for (const OracleTerm& p : testing::text_of(Terms::random(curve, 4, Scalars::uniform, 5, 1)))
    points.push_back(p);
  for (const unsigned start : {1u, 5u, 100u, 4000u}) {
    const auto p = testing::oracle(curve).some_point(start);
    points.push_back({"1", p.x, p.y});
    // The part of it that is outside alone: r times it; and one that is inside, the cofactor times
    // it.
    const auto almost = multiple(r_less_1, points.back());
    const auto outside = testing::oracle(curve).sum({{"1", almost.x, almost.y}, {"1", p.x, p.y}});
    const auto inside =
        multiple(parse_hex<4>("396c8c005555e1568c00aaab0000aaab").value(), points.back());
    points.push_back({"1", outside.x, outside.y});
    points.push_back({"1", inside.x, inside.y});
  }
  std::size_t inside = 0;
  for (const OracleTerm& p : points) {
    const auto almost = multiple(r_less_1, p);
    const bool expected =
        testing::widened(
            curve, testing::oracle(curve).sum({{"1", almost.x, almost.y}, {"1", p.x, p.y}})) ==
        testing::widened(curve, {"0", "0"});
    const Terms term = testing::terms_of(curve, {p});
    CHECK(host_points(curve).outside_subgroup(term.point_bytes(0, 1), 1).has_value() == !expected);
    inside += expected ? 1 : 0;
  }
  CHECK(inside == 9);
  CHECK(points.size() == 18);
}

TEST_CASE(
    "one point outside the subgroup among thousands is found, and points outside that cancel out "
    "as well") {
  const Curve curve = Curve::bls12_381;
  constexpr std::uint64_t count = 8500;
  Terms terms = Terms::random(curve, count, Scalars::equal, 5, 2);
  const auto found = [&](unsigned threads) {
    return host_points(curve).outside_subgroup(terms.point_bytes(0, count), threads);
  };
  CHECK_FALSE(found(2).has_value());
  const auto put = [&](std::uint64_t i, const std::string& y) {
    CHECK_FALSE(host_points(curve).parse("0", y, terms.point(i)).has_value());
  };
  put(count - 1, "2");
  CHECK(found(1) == count - 1);
  // (0, -2) is its opposite.
  put(4711,
      "0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffff"
      "ffaaa9");
  CHECK(found(3) == 4711);
  for (std::uint64_t i = 0; i < count; ++i) put(i, "2");
  CHECK(found(2) == 0);
  CHECK_FALSE(host_points(Curve::bn254)
                  .outside_subgroup(
                      Terms::random(Curve::bn254, 9, Scalars::equal, 1, 1).point_bytes(0, 9), 2)
                  .has_value());
}

TEST_CASE(
    "the reference has the scalars as given: infinity for r times a point of the subgroup, and "
    "never for one outside") {
  const auto verdict_of = [](Terms terms) {
    MsmWorkload workload(std::move(terms), {});
    workload.begin_sample();
    workload.merge();  // of nothing: infinity
    return workload.verify(VerifyLevel::full, 1);
  };
  for (const Curve curve : curves) {
    const OracleTerm point = testing::text_of(Terms::random(curve, 1, Scalars::equal, 1, 1))[0];
    const Verdict right =
        verdict_of(one_term(curve, "0x" + point.x, "0x" + point.y, order_of(curve)));
    CHECK(right.status == Verdict::Status::passed);
    CHECK(has(right.method, "before they were reduced"));
    CHECK(has(right.method, "the sum is infinity"));
    Scalar r_and_1 = order_of(curve);
    r_and_1[0] += 1;
    const Verdict wrong = verdict_of(one_term(curve, "0x" + point.x, "0x" + point.y, r_and_1));
    CHECK(wrong.status == Verdict::Status::failed);
    CHECK(has(wrong.message, "the sum is infinity, the reference says (0x"));
  }
  const auto outside = testing::oracle(Curve::bls12_381).some_point(5);
  const Verdict reduced = verdict_of(
      one_term(Curve::bls12_381, "0x" + outside.x, "0x" + outside.y, order_of(Curve::bls12_381)));
  CHECK(reduced.status == Verdict::Status::failed);
}

TEST_CASE("a wrong sum does not verify, with or without known logarithms") {
  for (const bool known : {true, false}) {
    Terms terms = Terms::random(Curve::bn254, 4, Scalars::uniform, 2, 1);
    const SumBytes infinity = host_points(Curve::bn254).infinity();
    MsmWorkload workload(
        known ? std::move(terms) : testing::terms_of(Curve::bn254, testing::text_of(terms)), {});
    workload.begin_sample();
    workload.add_partial(infinity);
    workload.merge();
    const Verdict verdict = workload.verify(VerifyLevel::full, 1);
    CHECK(verdict.status == Verdict::Status::failed);
    CHECK(has(verdict.message, "the reference says"));
  }
}

TEST_CASE("seeded terms make their points when asked, the same as at once") {
  Terms later = Terms::seeded(Curve::bls12_381, 40, Scalars::witness, 3, 1);
  const Terms at_once = Terms::random(Curve::bls12_381, 40, Scalars::witness, 3, 1);
  CHECK_FALSE(std::equal(later.memory().begin(), later.memory().end(), at_once.memory().begin()));
  later.make_points(2);
  CHECK(std::equal(later.memory().begin(), later.memory().end(), at_once.memory().begin()));
}
