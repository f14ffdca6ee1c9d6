// Small MSM problems for tests: terms as text, terms as the suite stores them, and OpenSSL's
// results for them.
#pragma once

#include <random>

#include "suites/msm/terms.hpp"
#include "tests/support/curve_oracle.hpp"

namespace mgpu::testing {

inline const CurveOracle& oracle(msm::Curve curve) {
  static const auto made = [](auto c) {
    using C = decltype(c);
    return CurveOracle(msm::to_hex(C::modulus), static_cast<unsigned>(C::b), msm::to_hex(C::order));
  };
  static const CurveOracle bn254 = made(msm::Bn254{}), bls12_381 = made(msm::Bls12381{});
  return curve == msm::Curve::bn254 ? bn254 : bls12_381;
}

// Pads a point to the field's width, as PlainPoint writes points.
inline msm::PlainPoint widened(msm::Curve curve, const OraclePoint& p) {
  const std::size_t digits = msm::field_bytes(curve) * 2;
  const auto wide = [&](const std::string& s) { return std::string(digits - s.size(), '0') + s; };
  return {wide(p.x), wide(p.y)};
}

inline msm::PlainPoint expected_sum(msm::Curve curve, const std::vector<OracleTerm>& terms) {
  return widened(curve, oracle(curve).sum(terms));
}

// Returns terms without known logarithms, as a file would give them; scalars must be below the
// order.
inline msm::Terms terms_of(msm::Curve curve, const std::vector<OracleTerm>& list) {
  msm::Terms terms(curve, list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    terms.scalars()[i] = msm::parse_hex<4>(list[i].scalar).value();
    const auto wrong =
        msm::host_points(curve).parse("0x" + list[i].x, "0x" + list[i].y, terms.point(i));
    if (wrong) throw std::runtime_error(*wrong);
  }
  return terms;
}

// Returns `terms` as text.
inline std::vector<OracleTerm> text_of(const msm::Terms& terms) {
  std::vector<OracleTerm> list;
  for (std::uint64_t i = 0; i < terms.count(); ++i) {
    const msm::PlainPoint p = msm::host_points(terms.curve()).plain(terms.point_bytes(i, i + 1));
    list.push_back({msm::to_hex(terms.scalars()[i]), p.x, p.y});
  }
  return list;
}

// Returns terms with every feature known to break MSM code: scalars 0, 1, 2, r - 1, powers of two
// and all-ones patterns at window boundaries; repeated points, opposite points, infinity and points
// outside the subgroup, all at once and in one another's buckets.
inline std::vector<OracleTerm> difficult_terms(msm::Curve curve, std::size_t count,
                                               std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const msm::Terms some = msm::Terms::random(curve, 8, msm::Scalars::uniform, seed, 1);
  std::vector<OracleTerm> list = text_of(some);
  for (unsigned start : {5u, 100u}) {
    const OraclePoint p = oracle(curve).some_point(start);
    list.push_back({"1", p.x, p.y});
  }
  msm::Scalar r_less_1 = msm::order_of(curve);
  r_less_1[0] -= 1;
  const std::vector<std::string> scalars{"0",
                                         "1",
                                         "2",
                                         "ffff",
                                         "10000",
                                         "8000",
                                         "80008000800080008000",
                                         "ffffffffffffffffffffffffffffffff",
                                         msm::to_hex(r_less_1),
                                         list[0].scalar,
                                         list[1].scalar};
  std::vector<OracleTerm> terms;
  for (std::size_t i = 0; i < count; ++i) {
    OracleTerm term = list[random() % list.size()];
    if (random() % 4 != 0) term.scalar = scalars[random() % scalars.size()];
    if (random() % 16 == 0) term.x = term.y = "0";
    terms.push_back(term);
    // Adds the opposite point, computed by OpenSSL as (r - 1) times the point. That holds only if
    // the point has order r; otherwise it adds the same point again.
    if (random() % 4 == 0 && i + 1 < count) {
      const OraclePoint minus = oracle(curve).sum({{msm::to_hex(r_less_1), term.x, term.y}});
      terms.push_back({term.scalar, minus.x, minus.y});
      ++i;
    }
  }
  return terms;
}

}  // namespace mgpu::testing
