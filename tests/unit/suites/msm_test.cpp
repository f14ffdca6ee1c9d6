// Host parts of the msm suite: the field compared with GMP, points and references compared with
// OpenSSL, windows that cover scalars and weight their sums, their costs, and the memory that a
// device needs for them.
#include <doctest/doctest.h>
#include <gmpxx.h>

#include <random>

#include "suites/msm/field.hpp"
#include "suites/msm/kernel_options.hpp"
#include "suites/msm/msm_workload.hpp"
#include "suites/msm/reference.hpp"
#include "tests/support/msm_terms.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/thorough.hpp"

namespace mgpu::msm {
namespace {

using test::has;
using testing::OracleTerm;

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
  for (int i = 0; i < (testing::is_thorough() ? 60 : 20); ++i)
    values.push_back(random_value<C>(random));
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

TEST_CASE("msm: the fields of both curves do as GMP does") {
  check_field<Bn254>();
  check_field<Bls12381>();
}

TEST_CASE("msm: hexadecimal numbers are read whole or not at all") {
  CHECK(parse_hex<4>("0xFf") == Scalar{255, 0, 0, 0});
  CHECK(parse_hex<4>("0") == Scalar{});
  CHECK(parse_hex<4>("0x" + std::string(70, '0') + "1") == Scalar{1, 0, 0, 0});
  CHECK(parse_hex<4>(std::string(64, 'f')).has_value());
  for (const char* bad : {"", "0x", "12g", " 1", "-1", "0x0x1"})
    CHECK_FALSE(parse_hex<4>(bad).has_value());
  CHECK_FALSE(parse_hex<4>("1" + std::string(64, '0')).has_value());
  CHECK(to_hex(Scalar{0xabc, 0, 0, 0}) == std::string(61, '0') + "abc");
}

TEST_CASE("msm: the kernels' constants are those of the curve") {
  const std::string options = field_options(Curve::bn254, false, false);
  // P_INVERSE has the value of implementations of EIP-196: -1/p mod 2^32.
  for (const char* part : {"-DLIMBS=8 ", " -DP0=0xd87cfd47u", " -DP7=0x30644e72u",
                           " -DD7=0x60c89ce5u", " -DP_INVERSE=0xe4866389u"})
    CHECK(has(options, part));
  CHECK(scalar_options(Curve::bn254, false, true) == "-DMSM_ROLLED");
}

namespace {

constexpr Curve kCurves[] = {Curve::bn254, Curve::bls12_381};

// Returns one term with the point in the form of a file.
Terms one_term(Curve curve, const std::string& x, const std::string& y, const Scalar& scalar) {
  Terms terms(curve, 1);
  CHECK_FALSE(host_points(curve).parse(x, y, terms.point(0)).has_value());
  terms.take_scalars({scalar});
  return terms;
}

}  // namespace

TEST_CASE("msm: seeded points are the multiples they should be, references agree with OpenSSL") {
  for (const Curve curve : kCurves) {
    for (const std::uint64_t count : {0, 1, 17}) {
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

TEST_CASE("msm: points of later blocks continue the row of multiples, for any number of threads") {
  const Terms one = Terms::random(Curve::bn254, 1050, Scalars::witness, 9, 1);
  const Terms three = Terms::random(Curve::bn254, 1050, Scalars::witness, 9, 3);
  CHECK(std::equal(one.memory().begin(), one.memory().end(), three.memory().begin(),
                   three.memory().end()));
  CHECK(reference_sum(Curve::bn254, one.scalars(), *one.logs()) ==
        host_points(Curve::bn254).multiply(one.point_bytes(0, 1050), one.scalars(), 2));
}

TEST_CASE("msm: the host's Pippenger agrees with OpenSSL on difficult terms") {
  for (const Curve curve : kCurves) {
    const auto list = testing::difficult_terms(curve, 60, 3);
    const Terms terms = testing::terms_of(curve, list);
    CHECK(host_points(curve).multiply(terms.point_bytes(0, terms.count()), terms.scalars(), 1) ==
          testing::expected_sum(curve, list));
  }
}

TEST_CASE("msm: windows cover every scalar with the bit their sign needs, folded or not") {
  for (const Curve curve : kCurves) {
    for (unsigned bits = least_window; bits <= largest_window; ++bits) {
      const Windows folded = windows_of(curve, true, bits), plain = windows_of(curve, false, bits);
      for (const Windows& windows : {folded, plain}) {
        const unsigned needed = order_bits_of(curve) + (windows == folded ? 0 : 1);
        CHECK((windows.count - 1) * bits < needed);
        CHECK(windows.first_bit(windows.count) == needed);
        std::uint64_t buckets = 0;
        for (unsigned w = 0; w < windows.count; ++w) {
          const unsigned first = windows.first_bit(w), of = windows.bits_of(w);
          CHECK((first + of == windows.first_bit(w + 1) && of >= 1 && of <= bits));
          CHECK(of + 1 >= windows.bits_of(0));
          CHECK((windows.reached(first) == w && windows.reached(first + 1) == w + 1));
          buckets += std::uint64_t{1} << (windows.bits_of(w) - 1);
        }
        CHECK(windows.used_buckets() == buckets);
        CHECK(windows.fewest_buckets() == std::uint64_t{1}
                                              << (windows.bits_of(windows.count - 1) - 1));
      }
    }
  }
}

TEST_CASE("msm: a window's sums are weighted by where its bits are") {
  for (const Curve curve : kCurves) {
    const HostPoints& host = host_points(curve);
    const std::size_t affine = affine_bytes(curve), sum = sum_bytes(curve);
    const std::vector<std::byte> ones = with_curve(curve, [](auto c) {
      const auto one = Fp<decltype(c)>::one().montgomery();
      const auto bytes = std::as_bytes(std::span(one));
      std::vector<std::byte> both(bytes.begin(), bytes.end());
      both.insert(both.end(), bytes.begin(), bytes.end());
      return both;
    });
    for (const unsigned bits : {2u, 9u}) {
      const Windows windows = windows_of(curve, true, bits);
      for (const auto& [first, last] :
           {std::pair{0u, windows.count}, std::pair{windows.count / 2, windows.count},
            std::pair{1u, 2u}}) {
        // Fills the sums as kernels leave them: sums 0 and 1 of a window have the window's weight,
        // and sum i has twice that of sum i - 1; the last one of a narrow window is infinity, here
        // all zeros.
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
        // A window's own sum is its sum as the lowest window.
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

TEST_CASE(
    "msm: a point is in the subgroup where the order times it is infinity, as OpenSSL has it") {
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
    // Splits off the part outside the subgroup, r times the point, and a point inside, the cofactor
    // times the point.
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

TEST_CASE("msm: points outside the subgroup are found among thousands, also if they cancel out") {
  const Curve curve = Curve::bls12_381;
  const std::uint64_t count = testing::is_thorough() ? 8500 : 60, middle = count / 2;
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
  put(middle,
      "0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffff"
      "ffaaa9");
  CHECK(found(3) == middle);
  for (std::uint64_t i = 0; i < count; ++i) put(i, "2");
  CHECK(found(2) == 0);
  CHECK_FALSE(host_points(Curve::bn254)
                  .outside_subgroup(
                      Terms::random(Curve::bn254, 9, Scalars::equal, 1, 1).point_bytes(0, 9), 2)
                  .has_value());
}

TEST_CASE("msm: the reference has the scalars as given, before they are reduced") {
  const auto verdict_of = [](Terms terms) {
    MsmWorkload workload(std::move(terms), {});
    workload.begin_sample();
    workload.merge();  // the sum of no terms: infinity
    return workload.verify(VerifyLevel::full, 1);
  };
  for (const Curve curve : kCurves) {
    const OracleTerm point = testing::text_of(Terms::random(curve, 1, Scalars::equal, 1, 1))[0];
    const Verdict right =
        verdict_of(one_term(curve, "0x" + point.x, "0x" + point.y, order_of(curve)));
    CHECK((right.status == Verdict::Status::passed && has(right.method, "infinity")));
    Scalar r_and_1 = order_of(curve);
    r_and_1[0] += 1;
    const Verdict wrong = verdict_of(one_term(curve, "0x" + point.x, "0x" + point.y, r_and_1));
    CHECK((wrong.status == Verdict::Status::failed && has(wrong.message, "(0x")));
  }
  const auto outside = testing::oracle(Curve::bls12_381).some_point(5);
  const Verdict reduced = verdict_of(
      one_term(Curve::bls12_381, "0x" + outside.x, "0x" + outside.y, order_of(Curve::bls12_381)));
  CHECK(reduced.status == Verdict::Status::failed);
}

TEST_CASE("msm: a wrong sum does not verify, with or without known logarithms") {
  for (const bool known : {true, false}) {
    Terms terms = Terms::random(Curve::bn254, 4, Scalars::uniform, 2, 1);
    const SumBytes infinity = host_points(Curve::bn254).infinity();
    MsmWorkload workload(
        known ? std::move(terms) : testing::terms_of(Curve::bn254, testing::text_of(terms)), {});
    workload.begin_sample();
    workload.add_partial(0, infinity);
    workload.merge();
    CHECK(workload.verify(VerifyLevel::full, 1).status == Verdict::Status::failed);
  }
}

TEST_CASE("msm: each sum of a batch has scalars of its own, and is verified") {
  constexpr std::uint64_t count = 5, sums = 3;
  const Terms batch = Terms::seeded(Curve::bn254, count, Scalars::uniform, 4, 2, sums),
              one = Terms::seeded(Curve::bn254, count, Scalars::uniform, 4, 2);
  REQUIRE(batch.scalars().size() == sums * count);
  CHECK(std::equal(one.scalars().begin(), one.scalars().end(), batch.scalars().begin()));
  CHECK(batch.scalars()[count] != batch.scalars()[0]);
  const Terms equal = Terms::seeded(Curve::bn254, count, Scalars::equal, 4, 2, sums);
  CHECK(equal.scalars()[0] == equal.scalars()[count - 1]);
  CHECK(equal.scalars()[0] != equal.scalars()[count]);

  MsmOptions options;
  options.fixed_base = FixedBase::no;
  MsmWorkload many(Terms::seeded(Curve::bn254, count, Scalars::uniform, 4, 2, sums), options);
  CHECK(many.shape().items == sums);
  CHECK(many.shape().ops == sums * count);
  CHECK(many.shape().bytes_in == count * (64 + sums * 32));
  CHECK(many.shape().bytes_out == sums * 64);
  CHECK(many.cost(scalars_mode).replicated == 0);
  CHECK(many.cost(Mode::end_to_end).replicated == count * 64);
  CHECK(many.cost(Mode::end_to_end).in_bytes == count * 32);
  CHECK(many.cost(Mode::resident).ops == count * many.windows().count);

  // Nothing has been added to any sum: right for those whose scalars are zeros.
  const auto verdict = [&](std::uint64_t wrong) {
    Terms terms(Curve::bn254, 1, sums);
    CHECK_FALSE(host_points(Curve::bn254).parse("1", "2", terms.point(0)).has_value());
    if (wrong < sums) terms.scalars()[wrong] = Scalar{1, 0, 0, 0};
    MsmWorkload zeros(std::move(terms), {});
    zeros.begin_sample();
    zeros.merge();
    return zeros.verify(VerifyLevel::sample, 1);
  };
  CHECK(verdict(sums).status == Verdict::Status::passed);
  CHECK(has(verdict(sums).method, "each of 3 sums; a sum is infinity"));
  for (const std::uint64_t wrong : {0, 1, 2}) {
    CHECK(verdict(wrong).status == Verdict::Status::failed);
    CHECK(has(verdict(wrong).message, "sum " + std::to_string(wrong) + " is infinity"));
  }
}

TEST_CASE("msm: seeded terms make their points when asked, the same as at once") {
  Terms later = Terms::seeded(Curve::bls12_381, 40, Scalars::witness, 3, 1);
  const Terms at_once = Terms::random(Curve::bls12_381, 40, Scalars::witness, 3, 1);
  CHECK_FALSE(std::equal(later.memory().begin(), later.memory().end(), at_once.memory().begin()));
  later.make_points(2);
  CHECK(std::equal(later.memory().begin(), later.memory().end(), at_once.memory().begin()));
}

namespace {

DeviceTraits msm_gpu(Bytes memory) {
  DeviceTraits traits;
  traits.compute_units = 132;
  traits.global_memory = memory;
  traits.max_allocation = memory / 4;
  return traits;
}

}  // namespace

TEST_CASE("msm: more points want wider windows, split ones as many as the devices can share") {
  for (const Limit limit : {Limit::throughput, Limit::latency}) {
    unsigned before = 0;
    for (unsigned log_n = 0; log_n <= 26; ++log_n) {
      const Windows best = best_windows(Curve::bn254, true, limit, std::uint64_t{1} << log_n);
      CHECK(best.bits >= before);
      before = best.bits;
    }
  }
  CHECK(best_windows(Curve::bn254, true, Limit::latency, 1 << 20).bits >= 15);
  for (const std::size_t devices : {1, 2, 3, 4, 8}) {
    const Windows split =
        best_split_windows(Curve::bn254, true, Limit::throughput, 1 << 22, devices);
    const double idle =
        static_cast<double>((split.count + devices - 1) / devices * devices) / split.count;
    CHECK(idle < 1.07);  // 15 windows over 8 devices
  }
}

TEST_CASE("msm: a term costs as many digits as the windows for its device's share have") {
  MsmOptions options;
  options.fixed_base = FixedBase::no;
  options.devices = 8;
  MsmWorkload workload(Terms(Curve::bn254, 1 << 12), options);
  for (const std::size_t devices : {1, 8}) {
    workload.set_device_count(devices);
    CHECK(workload.cost(Mode::resident).ops ==
          best_windows(Curve::bn254, true, Limit::latency, (1 << 12) / devices).count);
  }
  CHECK(best_windows(Curve::bn254, true, Limit::latency, 1 << 12).count <
        best_windows(Curve::bn254, true, Limit::latency, 1 << 9).count);
}

TEST_CASE("msm: a layout holds what every pass of its slices can write") {
  const DeviceTraits device = msm_gpu(Bytes{140} << 30);
  for (const unsigned bits : {2u, 8u, 15u, 20u}) {
    for (const std::uint64_t points :
         {std::uint64_t{1}, std::uint64_t{33}, std::uint64_t{100'000}, std::uint64_t{1} << 22}) {
      const Problem problem{
          Curve::bn254, Axis::points, points, {windows_of(Curve::bn254, true, bits)}};
      const Layout plan = layout(device, problem, Mode::resident, points);
      for (const std::uint64_t slice : {points, points / 2, points / 7, std::uint64_t{1}}) {
        const Pass pass = pass_of(device, slice, problem.windows[0].count, problem.windows[0]);
        CHECK(pass.limit >= least_limit);
        CHECK(pass.limit <= largest_limit);
        CHECK(plan.tasks >= pass.tasks() * 16);
        CHECK(plan.partials >= 2 * (pass.entries() / pass.limit) * sum_bytes(Curve::bn254));
        CHECK(plan.entries >= pass.entries() * 4);
      }
    }
  }
}

TEST_CASE("msm: the scalars and the results of a batch take memory, its points only once") {
  const DeviceTraits device = msm_gpu(Bytes{80} << 30);
  Problem problem{Curve::bn254, Axis::sums, 1 << 20, {windows_of(Curve::bn254, true, 16)}};
  problem.sums = 100;
  const Layout resident = layout(device, problem, Mode::resident, 100),
               uploaded = layout(device, problem, scalars_mode, 3);
  CHECK(resident.points == 64 << 20);
  CHECK((resident.scalar_slots == 1 && resident.scalars == Bytes{100 * 32} << 20));
  CHECK((uploaded.scalar_slots == 2 && uploaded.scalars == Bytes{3 * 32} << 20));
  CHECK((uploaded.point_slots == 1 && uploaded.points == 64 << 20));
  CHECK(resident.results >= 100 * problem.windows[0].count * sum_bytes(Curve::bn254));
  CHECK(capacity(device, problem, Mode::resident).fits == 100);
  CHECK(capacity(device, problem, scalars_mode).pipeline == 12);
  const Capacity none = capacity(msm_gpu(Bytes{8} << 30), problem, Mode::resident);
  CHECK(none.fits == 0);  // the scalars are 3.1 GiB, the largest buffer 2
  CHECK(capacity(msm_gpu(Bytes{8} << 30), problem, scalars_mode).fits >= 1);
  problem.points = Items{1} << 30;
  CHECK(has(capacity(device, problem, scalars_mode).reason, "--batch has at most"));
}

TEST_CASE("msm: windows that share buckets: passes, and a layout for the fullest of any slice") {
  const Windows shared = windows_of(Curve::bn254, true, 20, true);
  CHECK(shared.count == 13);
  CHECK(shared.wide == 7);
  CHECK(shared.all_buckets() == 1 << 19);
  CHECK(shared.used_buckets() == 1 << 19);
  // 7 windows of 2^19 buckets and 6 of half as many: 2^20 points put 2 and 4 digits respectively
  // into each bucket below the middle.
  CHECK(shared.digits_in_fullest(1 << 20) == doctest::Approx(7 * 2 + 6 * 4));
  CHECK(windows_of(Curve::bn254, true, 20).digits_in_fullest(1 << 20) == doctest::Approx(4));
  CHECK(passes_of(shared, 1 << 20) == 1);
  CHECK(passes_of(shared, 1 << 22) == 2);
  CHECK(windows_of_pass(shared, 1 << 22) == 7);
  CHECK(passes_of(shared, 1 << 26) == 13);
  CHECK(passes_of(windows_of(Curve::bn254, true, 20), 1 << 26) == 1);

  const DeviceTraits device = msm_gpu(Bytes{80} << 30);
  for (const std::uint64_t points :
       {std::uint64_t{1}, std::uint64_t{33}, std::uint64_t{3'000'000}, std::uint64_t{1} << 22}) {
    Problem problem{Curve::bn254, Axis::points, points, {windows_of(Curve::bn254, true, 16)},
                    true,         shared};
    CHECK(has_table(device, problem, Mode::resident));
    CHECK(has_table(device, problem, scalars_mode));
    CHECK_FALSE(has_table(device, problem, Mode::end_to_end));
    const Layout plan = layout(device, problem, Mode::resident, points);
    CHECK(plan.points == 13 * points * 64);
    for (std::uint64_t slice = points; slice > 0; slice = slice * 9 / 10) {
      const Pass pass = pass_of(device, slice, windows_of_pass(shared, slice), shared);
      CHECK(pass.buckets == 1 << 19);
      CHECK(plan.tasks >= pass.tasks() * 16);
      CHECK(plan.partials >= 2 * (pass.entries() / pass.limit) * sum_bytes(Curve::bn254));
      CHECK(plan.entries >= pass.entries() * 4);
    }
  }
}

TEST_CASE("msm: a table is made where it fits, elsewhere only if it must be, which is refused") {
  const auto problem_of = [](std::uint64_t points, bool must) {
    return Problem{Curve::bn254, Axis::points,
                   points,       {windows_of(Curve::bn254, true, 16)},
                   true,         windows_of(Curve::bn254, true, 20, true),
                   must};
  };
  const DeviceTraits small =
      msm_gpu(Bytes{4} << 30);  // 1 GiB at once: 2^22 points, but not 13 multiples of each
  CHECK_FALSE(has_table(small, problem_of(1 << 22, false), Mode::resident));
  CHECK(capacity(small, problem_of(1 << 22, false), Mode::resident).fits == 1 << 22);
  const Capacity refused = capacity(small, problem_of(1 << 22, true), Mode::resident);
  CHECK((refused.fits == 0 && has(refused.reason, "4194304")));
  const DeviceTraits huge = msm_gpu(Bytes{4} << 40);
  CHECK_FALSE(has_table(huge, problem_of(1 << 28, false),
                        Mode::resident));  // 13 x 2^28 numbers of points are too many
  const Capacity too_many = capacity(huge, problem_of(1 << 28, true), Mode::resident);
  CHECK((too_many.fits == 0 && has(too_many.reason, "165191048")));

  MsmOptions options;
  MsmWorkload with(Terms(Curve::bn254, 1 << 16), options);
  options.fixed_base = FixedBase::no;
  MsmWorkload without(Terms(Curve::bn254, 1 << 16), options);
  CHECK(with.cost(Mode::resident).ops < without.cost(Mode::resident).ops);
  CHECK(with.cost(Mode::end_to_end).ops == without.cost(Mode::end_to_end).ops);
  options.fixed_base = FixedBase::automatic;
  options.limit = Limit::throughput;  // CPUs
  MsmWorkload on_cpus(Terms(Curve::bn254, 1 << 16), options);
  CHECK_FALSE(on_cpus.problem().shared_windows.has_value());
}

TEST_CASE("msm: a device is given what fits it, or nothing and a reason") {
  const Problem problem{Curve::bls12_381,
                        Axis::points,
                        1 << 22,
                        {best_windows(Curve::bls12_381, true, Limit::latency, 1 << 22)}};
  CHECK(capacity(msm_gpu(Bytes{140} << 30), problem, Mode::resident).fits == 1 << 22);
  const Capacity small = capacity(msm_gpu(Bytes{2} << 30), problem, Mode::end_to_end);
  CHECK((small.fits > 0 && small.fits < 1 << 22));
  CHECK(layout(msm_gpu(Bytes{2} << 30), problem, Mode::end_to_end, small.fits).total() <=
        Bytes{2} << 30);
  const Capacity none = capacity(msm_gpu(Bytes{64} << 20), problem, Mode::resident);
  CHECK((none.fits == 0 && has(none.reason, "4194304")));
  CHECK(capacity(msm_gpu(Bytes{140} << 30),
                 {Curve::bn254, Axis::points, 0, {windows_of(Curve::bn254, true, 2)}},
                 Mode::resident)
            .fits == 1);
}

TEST_CASE("msm: bits of scalars are counted after folding, fewer bits need fewer multiply-adds") {
  Scalar r_less_1 = order_of(Curve::bn254);
  r_less_1[0] -= 1;
  const Scalar scalars[] = {{}, {1, 0, 0, 0}, {0xffff, 0, 0, 0}, {0, 1, 0, 0}, r_less_1};
  const BitLengths folded = bit_lengths(Curve::bn254, true, scalars),
                   plain = bit_lengths(Curve::bn254, false, scalars);
  CHECK(folded[0] == 1);
  CHECK(folded[1] == 2);  // r - 1 is -1
  CHECK(folded[16] == 1);
  CHECK(folded[65] == 1);
  CHECK(plain[1] == 1);
  CHECK(plain[254] == 1);
  BitLengths one{}, wide{};
  wide[253] = 1 << 20;
  // 14 windows of 16 bits and two of 15. Each digit takes 8 products, 2 squares and 9 reductions of
  // 8 words; each bucket takes twice 12, 2 and 13 of them.
  CHECK(least_multiply_adds(Curve::bn254, true, wide, false) ==
        doctest::Approx(16.0 * (1 << 20) * 2392.0 + 2 * 15 * 32768 * 3448.0).epsilon(1e-9));
  one[1] = 1 << 20;
  CHECK(least_multiply_adds(Curve::bn254, true, one, false) <
        least_multiply_adds(Curve::bn254, true, wide, false) / 10);
  // 13 windows of at most 20 bits that share 2^19 buckets.
  CHECK(least_multiply_adds(Curve::bn254, true, wide, true) ==
        doctest::Approx(13.0 * (1 << 20) * 2392.0 + 2 * 524288.0 * 3448.0).epsilon(1e-9));
  CHECK(least_multiply_adds(Curve::bls12_381, true, BitLengths{}, false) == 0);
}

TEST_CASE("msm: each mode says what it sends, and windows follow the number of devices") {
  MsmOptions options;
  options.fixed_base = FixedBase::no;
  options.devices = 4;
  MsmWorkload by_points(Terms(Curve::bn254, 1 << 14), options);
  CHECK(by_points.cost(Mode::end_to_end).in_bytes == 96);
  CHECK(by_points.cost(scalars_mode).in_bytes == 32);
  by_points.set_device_count(1);
  const unsigned alone = by_points.windows().bits;
  by_points.set_device_count(4);
  CHECK(by_points.windows().bits < alone);
  options.axis = Axis::windows;
  MsmWorkload by_windows(Terms(Curve::bn254, 1 << 14), options);
  CHECK(by_windows.shape().items == by_windows.windows().count);
  CHECK(by_windows.cost(Mode::end_to_end).replicated == 96 << 14);
  CHECK(by_windows.cost(scalars_mode).replicated == 32 << 14);
}

}  // namespace mgpu::msm
