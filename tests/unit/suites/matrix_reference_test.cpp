// What the reference says of products at the ends of the range of numbers: what IEEE arithmetic
// makes of a chain of fma passes, and nothing else does.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "suites/matrix/reference.hpp"
#include "suites/suites.hpp"

using namespace mgpu;
using namespace mgpu::matrix;

namespace {

constexpr std::uint64_t rows = 40, columns = 35, inner = 29;

template <class Real>
struct Product {
  explicit Product(const std::string& alpha = "1", const std::string& beta = "0")
      : params(params_of(alpha, beta)), problem(problem_of(params)), operands(problem, params) {}

  static SuiteParams params_of(const std::string& alpha, const std::string& beta) {
    SuiteParams made;
    made.size = rows;
    made.seed = 7;
    made.options = {{"precision", sizeof(Real) == 8 ? "fp64" : "fp32"},
                    {"axis", "rows"},
                    {"cols", std::to_string(columns)},
                    {"inner", std::to_string(inner)},
                    {"alpha", alpha},
                    {"beta", beta},
                    {"data", "uniform"},
                    {"kernel", "auto"}};
    return made;
  }
  static Real* values(std::span<const std::byte> bytes) {
    return reinterpret_cast<Real*>(
        const_cast<std::byte*>(bytes.data()));  // the operands are ours until they are uploaded
  }
  Real& a(std::uint64_t row, std::uint64_t k) { return values(operands.a())[row * inner + k]; }
  Real& b(std::uint64_t k, std::uint64_t column) {
    return values(operands.b())[k * columns + column];
  }
  Real& c_in(std::uint64_t row, std::uint64_t column) {
    return values(operands.c_in())[row * columns + column];
  }
  Real& c(std::uint64_t row, std::uint64_t column) {
    return values(operands.c())[row * columns + column];
  }
  void scale_a(Real by) {
    for (std::uint64_t e = 0; e < rows * inner; ++e) values(operands.a())[e] *= by;
  }
  void scale_b(Real by) {
    for (std::uint64_t e = 0; e < inner * columns; ++e) values(operands.b())[e] *= by;
  }

  // As kernels do; `flush`: what a device does that takes numbers below the smallest normal one for
  // zero.
  void compute(bool flush = false) {
    const auto kept = [&](Real x) {
      return flush && std::abs(x) < std::numeric_limits<Real>::min() ? Real{0} : x;
    };
    const auto alpha = static_cast<Real>(problem.alpha), beta = static_cast<Real>(problem.beta);
    for (std::uint64_t i = 0; i < rows; ++i) {
      for (std::uint64_t j = 0; j < columns; ++j) {
        Real sum = 0;
        for (std::uint64_t k = 0; k < inner; ++k)
          sum = kept(std::fma(kept(a(i, k)), kept(b(k, j)), sum));
        c(i, j) = kept(problem.reads_c() ? std::fma(alpha, sum, kept(beta * kept(c_in(i, j))))
                                         : alpha * sum);
      }
    }
  }

  // Both checks; empty: right.
  std::string wrong(bool flushed = false) {
    Reference reference(problem, operands, 2);
    if (flushed) reference.allow_flushing();
    const std::string sampled = reference.check_sample(3).message;
    return sampled.empty() ? reference.check_all(3).message : sampled;
  }

  // Right as it is, and seen if any of the rows that is not sampled has one element that is not.
  void check() {
    compute();
    const std::string message = wrong();
    CHECK_MESSAGE(message.empty(), message);
    for (std::uint64_t row = 1; row + 1 < rows; row += 4) {
      Real& element = c(row, row % columns);
      const Real right = element;
      CAPTURE(row);
      CAPTURE(right);
      constexpr Real most = std::numeric_limits<Real>::max(),
                     infinity = std::numeric_limits<Real>::infinity();
      for (const Real bad :
           {std::isinf(right) ? -right : infinity,
            std::isnan(right) ? infinity : std::numeric_limits<Real>::quiet_NaN(), most, -most}) {
        element = bad;
        CHECK(wrong() != "");
      }
      element = right;
    }
  }

  std::size_t count(bool (*what)(Real)) {
    std::size_t found = 0;
    for (std::uint64_t e = 0; e < rows * columns; ++e) found += what(values(operands.c())[e]);
    return found;
  }

  SuiteParams params;
  Problem problem;
  Operands operands;
};

template <class Real>
bool is_infinite(Real x) {
  return std::isinf(x);
}
template <class Real>
bool is_nan(Real x) {
  return std::isnan(x);
}
template <class Real>
bool is_subnormal(Real x) {
  return x != 0 && std::abs(x) < std::numeric_limits<Real>::min();
}

// About the square root of the largest number.
template <class Real>
constexpr Real large = sizeof(Real) == 8 ? static_cast<Real>(1e155) : static_cast<Real>(1.5e19);
// Products with it of its own kind are subnormal.
template <class Real>
constexpr Real tiny = sizeof(Real) == 8 ? static_cast<Real>(1e-156) : static_cast<Real>(1e-20);

template <class Real>
void check_everywhere() {
  {
    Product<Real> all;  // every element may overflow, some do
    all.scale_a(large<Real>);
    all.scale_b(large<Real>);
    all.check();
    CHECK(all.count(is_infinite<Real>) > 10);
  }
  {
    Product<Real> some;  // a few rows and columns with a few huge numbers
    for (const std::uint64_t at : {5u, 13u, 30u}) {
      some.a(at, at % inner) *= large<Real> * 1000;
      some.b(at % inner, at) *= large<Real> * 1000;
    }
    some.check();
    CHECK(some.count(is_infinite<Real>) > 0);
    CHECK(some.count(is_infinite<Real>) < 20);
  }
  {
    Product<Real> below;
    below.scale_a(tiny<Real>);
    below.scale_b(tiny<Real>);
    below.check();
    CHECK(below.count(is_subnormal<Real>) > rows * columns / 2);
    below.compute(true);
    CHECK(below.wrong() != "");
    CHECK(below.wrong(true) == "");
    below.c(3, 3) += 100'000 * std::numeric_limits<Real>::min();
    CHECK(below.wrong(true) != "");
  }
  {
    Product<Real> operands;  // subnormal themselves
    operands.scale_b(std::numeric_limits<Real>::min() / 8);
    operands.scale_a(static_cast<Real>(1e10));
    operands.check();
    operands.compute(true);
    CHECK(operands.wrong() != "");
    CHECK(operands.wrong(true) == "");
  }
  {
    Product<Real> ends(sizeof(Real) == 8 ? "1e307" : "1e37");  // only alpha times the sum overflows
    ends.scale_a(10);
    ends.check();
    CHECK(ends.count(is_infinite<Real>) > 10);
  }
  {
    Product<Real> against("1", sizeof(Real) == 8 ? "-1e307" : "-1e37");  // sums and beta C do
    against.scale_a(large<Real>);
    against.scale_b(large<Real>);
    for (std::uint64_t e = 0; e < rows * columns; ++e)
      Product<Real>::values(against.operands.c_in())[e] *= 1000;
    against.check();
    CHECK(against.count(is_infinite<Real>) > 10);
    CHECK(against.count(is_nan<Real>) > 2);
  }
  {
    Product<Real> strange("2", "0.5");
    strange.a(4, 3) = std::numeric_limits<Real>::quiet_NaN();
    strange.b(6, 7) = std::numeric_limits<Real>::infinity();
    strange.c_in(9, 9) = -std::numeric_limits<Real>::infinity();
    strange.check();
    CHECK(strange.count(is_nan<Real>) >= columns);
  }
}

}  // namespace

TEST_CASE(
    "products that overflow, or are subnormal, are right as IEEE arithmetic has them, in both "
    "precisions, and only so") {
  check_everywhere<float>();
  check_everywhere<double>();
}

TEST_CASE(
    "one wrong element of a rounded product is seen in any row, however large or small the columns "
    "of B are") {
  Product<double> product;
  for (std::uint64_t j = 0; j < columns; ++j) {
    for (std::uint64_t k = 0; k < inner; ++k)
      product.b(k, j) *=
          std::exp2(static_cast<double>(j % 2 == 0 ? 20 * j : -20.0 * static_cast<double>(j)));
  }
  product.compute();
  CHECK(product.wrong() == "");
  for (std::uint64_t j = 0; j < columns; ++j) {
    const double right = product.c(17, j);
    product.c(17, j) *= 1 + 1e-9;
    CHECK(product.wrong() != "");
    product.c(17, j) = right;
  }
}
