#include "suites/fisher/closed_reference.hpp"

#include <algorithm>
#include <array>
#include <boost/math/quadrature/gauss.hpp>
#include <boost/math/special_functions/bernoulli.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <cmath>
#include <limits>

namespace mgpu::fisher {
namespace {

using boost::math::trigamma;
using real = long double;

// Returns -psi2(x) for x >= 40 by the derivative of trigamma's asymptotic series (Abramowitz,
// Stegun: Handbook of Mathematical Functions, 6.4.13). The first term that is left out is 3e-24 of
// the value.
real minus_psi2(real x) {
  constexpr int terms = 7;
  static const std::array<real, terms> coefficients = [] {
    std::array<real, terms> made;
    for (int k = 0; k < terms; ++k)
      made[static_cast<std::size_t>(k)] = (2 * k + 3) * boost::math::bernoulli_b2n<real>(k + 1);
    return made;
  }();
  const real z = 1 / x, square = z * z;
  real series = 0;
  for (std::size_t k = terms; k-- > 0;) series = fmal(series, square, coefficients[k]);
  return square * (1 + z + series * square);
}

// Returns elements (1, 1), (1, 2), (2, 2) for the families of one and two parameters.
std::vector<real> small_matrix(Family family, real a, real b) {
  switch (family) {
    case Family::normal:
      return {1 / (b * b), 0, 2 / (b * b)};
    case Family::normal_variance:
      return {1 / b, 0, 1 / (2 * b * b)};
    case Family::gamma:
      return {trigamma(a), -1 / b, a / (b * b)};
    case Family::gamma_mean:
      return {trigamma_less_reciprocal(a), 0, a / (b * b)};
    case Family::beta: {
      const real both = trigamma(a + b);
      return {a < b ? trigamma(a) - both : trigamma_difference(a, b), -both,
              b < a ? trigamma(b) - both : trigamma_difference(b, a)};
    }
    case Family::poisson:
      return {1 / a};
    case Family::geometric:
      return {1 / (a * a * (1 - a))};
    case Family::exponential:
      return {1 / (a * a)};
    case Family::laplace:
      return {1 / (b * b), 0, 1 / (b * b)};
    default:
      return {binomial_trials / (a * (1 - a))};
  }
}

// Returns the sum of all elements except element i.
real sum_of_others(const std::vector<real>& v, std::size_t i) {
  real sum = 0;
  for (std::size_t k = 0; k < v.size(); ++k) sum += k == i ? 0 : v[k];
  return sum;
}

struct Maker {  // builds matrices of families with any number of parameters
  ReferenceMatrix made;
  real unit = 0;

  void add(real value, real units) {
    made.values.push_back(static_cast<double>(value));
    made.allowed.push_back(static_cast<double>(std::abs(value) * units * unit));
  }

  void dirichlet(const std::vector<real>& alpha, real units) {
    const real all = sum_of_others(alpha, alpha.size()), common = trigamma(all);
    for (std::size_t i = 0; i < alpha.size(); ++i) {
      const real others = sum_of_others(alpha, i);
      add(others <= alpha[i] ? trigamma_difference(alpha[i], others) : trigamma(alpha[i]) - common,
          units);
      for (std::size_t j = i + 1; j < alpha.size(); ++j) add(-common, units);
    }
  }

  void categorical(const std::vector<real>& logits, real units) {
    const auto largest = std::max_element(logits.begin(), logits.end());
    std::vector<real> parts, below;
    for (const real x : logits) {
      below.push_back(*largest - x);
      parts.push_back(std::exp(x - *largest));
    }
    const real all = sum_of_others(parts, parts.size());
    const real others = sum_of_others(parts, static_cast<std::size_t>(largest - logits.begin()));
    real mean = 0;  // weighted mean of `below` over all but the largest
    for (std::size_t i = 0; i < parts.size(); ++i)
      mean += others > 0 ? parts[i] / others * below[i] : 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      for (std::size_t j = i; j < parts.size(); ++j) {
        const real value = i == j ? parts[i] / all * (sum_of_others(parts, i) / all)
                                  : -(parts[i] / all) * (parts[j] / all);
        add(value, units + below[i] + below[j] + 2 * mean);
      }
    }
  }

  void free_categorical(const std::vector<real>& p, real units, real units_of_sum) {
    const real left = what_is_left(p), common = 1 / left;
    const real of_left =
        units_of_sum * std::min<real>(1, static_cast<real>(p.size()) * unit / left);
    for (std::size_t i = 0; i < p.size(); ++i) {
      add(1 / p[i] + common, units + of_left);
      for (std::size_t j = i + 1; j < p.size(); ++j) add(common, units + of_left);
    }
  }
};

}  // namespace

// Returns 1 - sum p, with the roundings of the sum added up as well (Neumaier:
// Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen, 1974).
long double what_is_left(const std::vector<long double>& p) {
  real sum = 1, lost = 0;
  for (const real x : p) {
    const real next = sum - x;
    lost += std::abs(sum) >= x ? (sum - next) - x : (-x - next) + sum;
    sum = next;
  }
  return sum + lost;
}

// If d is not a small part of x, the difference itself is accurate to 1e-18. Otherwise this adds
// the first terms of the sum over (x + k)^-2 - (x + d + k)^-2, and for the rest the integral of
// -psi2. Its integrand is so smooth that Gauss's rule of 7 points is off by 1e-21.
long double trigamma_difference(long double x, long double d) {
  if (d >= x / 8) return trigamma(x) - trigamma(x + d);
  real sum = 0;
  for (; x < 40; x += 1) {
    const real end = x + d;
    sum += d / (x * end) * ((x + end) / (x * end));
  }
  return sum + d * boost::math::quadrature::gauss<real, 7>::integrate(
                       [&](real s) { return minus_psi2(x + d * s); }, real{0}, real{1});
}

// For large x: psi1(x) is the integral of t^(x - 1) (-ln t) / (1 - t) over 0 .. 1, and -ln t is the
// sum of (1 - t)^k / k, so psi1(x) is the sum of (k - 1)! / (k x (x + 1) .. (x + k - 1)). All terms
// are positive, and the first is 1 / x.
long double trigamma_less_reciprocal(long double x) {
  if (x < 16) return trigamma(x) - 1 / x;
  real term = 1 / x, sum = 0;
  for (int k = 1; term > sum * 1e-22L; ++k) {
    term *= k / (x + k);
    sum += term / (k + 1);
  }
  return sum;
}

ReferenceMatrix closed_reference(const Problem& problem, const std::vector<double>& theta) {
  const std::vector<real> v(theta.begin(), theta.end());
  constexpr real units = 16;
  const real of_sum = static_cast<real>(v.size()) / 8 + 8;
  Maker maker;
  maker.unit = problem.wide ? std::numeric_limits<double>::epsilon() / 2
                            : static_cast<real>(std::numeric_limits<float>::epsilon() / 2);
  if (parameters(problem.family)) {
    for (const real value : small_matrix(problem.family, v.front(), v.back()))
      maker.add(value, units);
  } else if (problem.family == Family::dirichlet) {
    maker.dirichlet(v, units + of_sum);
  } else if (problem.family == Family::categorical) {
    maker.categorical(v, units + of_sum);
  } else {
    maker.free_categorical(v, units, of_sum);
  }
  return maker.made;
}

}  // namespace mgpu::fisher
