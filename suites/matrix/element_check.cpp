#include "suites/matrix/element_check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "suites/common/number_text.hpp"

namespace mgpu::matrix {
namespace {}  // namespace

template <class Real>
double roundings(std::uint64_t n) {
  const double count = static_cast<double>(n);
  return (std::min(count, 8 * std::sqrt(count)) + 4) *
         static_cast<double>(std::numeric_limits<Real>::epsilon()) / 2;
}

template <class Real>
double error_of(const Problem& problem, std::uint64_t n) {
  return roundings<Real>(n) + (problem.precision == Precision::tf32x3 ? std::ldexp(1.0, -20) : 0);
}

template <class Real>
double step_below_normal(const Problem& problem, bool flushed) {
  const bool whole = flushed || problem.precision == Precision::tf32x3;
  return static_cast<double>(whole ? std::numeric_limits<Real>::min()
                                   : std::numeric_limits<Real>::denorm_min());
}

template <class Real>
ElementCheck<Real>::ElementCheck(const Problem& problem, const Operands& operands, bool flushed)
    : problem_(problem),
      a_(values<Real>(operands.a())),
      b_(values<Real>(operands.b())),
      c_(values<Real>(operands.c())),
      c_in_(problem.reads_c() ? values<Real>(operands.c_in()) : nullptr),
      flushed_(flushed),
      emulated_(problem.precision == Precision::tf32x3),
      relative_(error_of<Real>(problem, problem.summed())),
      // One step per rounding: those of the sum, scaled by alpha, and at most three after it
      // (alpha, beta and their addition).
      absolute_(
          (static_cast<long double>(problem.summed()) * std::max(1.0, std::abs(problem.alpha)) +
           3) *
          step_below_normal<Real>(problem, flushed)) {}

template <class Real>
std::string ElementCheck<Real>::check(const Part& part, double& largest) const {
  const std::uint64_t n = problem_.columns, k = problem_.summed();
  Wide<Real> sum[width] = {}, magnitude[width] = {};
  for (std::uint64_t p = 0; p < k; ++p) {
    const Wide<Real> x = a_[part.row * problem_.inner + p];
    const Real* const row = b_ + p * n + part.begin;
    for (std::uint64_t j = 0; j < part.size; ++j) {
      const Wide<Real> product = x * row[j];
      sum[j] += product;
      magnitude[j] += std::abs(product);
    }
  }
  for (std::uint64_t j = 0; j < part.size; ++j) {
    const std::uint64_t column = part.begin + j, at = part.row * n + column;
    const long double added = c_in_ ? static_cast<long double>(problem_.beta) * c_in_[at] : 0;
    const long double expected = static_cast<long double>(problem_.alpha) * sum[j] + added;
    const long double all =
        std::abs(static_cast<long double>(problem_.alpha)) * magnitude[j] + std::abs(added);
    if (!right(part.row, column, expected, magnitude[j], all))
      return what_is_wrong(part.row, column, expected, magnitude[j]);
    const long double error = std::abs(static_cast<long double>(c_[at]) - expected);
    if (std::isfinite(error) && all > 0 && error > absolute_)
      largest = std::max(largest, static_cast<double>(error / all));
  }
  return "";
}

// Returns whether an intermediate or final result may exceed the largest number.
template <class Real>
bool ElementCheck<Real>::may_leave(long double summed, long double magnitude) const {
  constexpr auto most = static_cast<long double>(std::numeric_limits<Real>::max());
  return !(summed < most / 2 && magnitude < most / 2);  // NaN may
}

// Returns whether an element is right. `summed` is the sum of the magnitudes of the product's
// terms; `magnitude` includes alpha and beta C.
template <class Real>
bool ElementCheck<Real>::right(std::uint64_t row, std::uint64_t column, long double expected,
                               long double summed, long double magnitude) const {
  const Real got = c_[row * problem_.columns + column];
  if (may_leave(summed, magnitude)) {
    // The order of summing decides which infinity results, or NaN. It is fixed, except for emulated
    // products: splitting operands turns infinities into NaN.
    if (emulated_ && !std::isfinite(got)) return true;
    const Real by_chain = emulated_ ? static_cast<Real>(0) : chain(row, column);
    if (!std::isfinite(by_chain)) return std::isnan(by_chain) ? std::isnan(got) : got == by_chain;
  }
  if (!std::isfinite(got)) return false;
  const long double error = std::abs(static_cast<long double>(got) - expected);
  const long double allowed = magnitude * relative_ + absolute_;
  if (error <= allowed) return true;
  return (flushed_ || emulated_) && error <= allowed + lost_with_operands(row, column);
}

// Returns what the kernels compute (kernels/matrix.cl): one chain of fma in the order of k from +0,
// then alpha and beta.
template <class Real>
Real ElementCheck<Real>::chain(std::uint64_t row, std::uint64_t column) const {
  Real sum = 0;
  for (std::uint64_t p = 0; p < problem_.summed(); ++p)
    sum = std::fma(a_[row * problem_.inner + p], b_[p * problem_.columns + column], sum);
  const auto alpha = static_cast<Real>(problem_.alpha), beta = static_cast<Real>(problem_.beta);
  return c_in_ ? std::fma(alpha, sum, beta * c_in_[row * problem_.columns + column]) : alpha * sum;
}

// Returns the sum of products with operands that are flushed. With TF32 it includes the remainders
// of operands, up to 2^-11 of them, which are flushed for operands below 2^-115.
template <class Real>
long double ElementCheck<Real>::lost_with_operands(std::uint64_t row, std::uint64_t column) const {
  constexpr auto least = static_cast<long double>(std::numeric_limits<Real>::min());
  const auto share = [&](Real x) -> long double {
    if (std::abs(x) < least) return 1;
    return emulated_ && std::abs(x) < std::ldexp(least, 11) ? std::ldexp(1.0L, -10) : 0;
  };
  long double lost = 0;
  for (std::uint64_t p = 0; p < problem_.summed(); ++p) {
    const Real x = a_[row * problem_.inner + p], y = b_[p * problem_.columns + column];
    lost += (share(x) + share(y)) * std::abs(static_cast<long double>(x) * y);
  }
  lost *= std::abs(problem_.alpha);
  if (c_in_) {
    const Real added = c_in_[row * problem_.columns + column];
    lost += share(added) * std::abs(static_cast<long double>(problem_.beta) * added);
  }
  return lost;
}

template <class Real>
std::string ElementCheck<Real>::what_is_wrong(std::uint64_t row, std::uint64_t column,
                                              long double expected, long double summed) const {
  const long double magnitude = std::abs(problem_.alpha) * summed;
  std::string right = number_text(static_cast<double>(expected));
  if (!emulated_ && may_leave(summed, std::max(magnitude, std::abs(expected))))
    right = number_text(chain(row, column));
  return "C[" + std::to_string(row) + "," + std::to_string(column) + "] is " +
         number_text(c_[row * problem_.columns + column]) + ", the reference says " + right;
}

template class ElementCheck<float>;
template class ElementCheck<double>;
template double roundings<float>(std::uint64_t);
template double roundings<double>(std::uint64_t);
template double error_of<float>(const Problem&, std::uint64_t);
template double error_of<double>(const Problem&, std::uint64_t);
template double step_below_normal<float>(const Problem&, bool);
template double step_below_normal<double>(const Problem&, bool);

}  // namespace mgpu::matrix
