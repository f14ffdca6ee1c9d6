#include "suites/fisher/limits.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "suites/common/number_text.hpp"
#include "suites/fisher/closed_reference.hpp"

namespace mgpu::fisher {
namespace {

// The least value of a parameter such that its reciprocal (`once`), or the square of that
// (`twice`), stays in the type's range.
template <class Real>
struct Least {
  static constexpr int exponent =
      std::numeric_limits<Real>::min_exponent - 1;  // exponent of the smallest normal number
  Real once = std::ldexp(Real{1}, exponent + 4), twice = std::ldexp(Real{1}, exponent / 2);
};

template <class Real>
Real least_of(const Problem& problem, std::uint64_t column) {
  const Least<Real> least;
  constexpr Real any = -std::numeric_limits<Real>::infinity();
  if (problem.regime == Regime::models)  // scores are up to 2^5 / sigma
    return problem.model == Model::gaussian && column % 2 == 1 ? least.twice * 64 : any;
  switch (problem.family) {
    case Family::normal:
    case Family::normal_variance:
    case Family::laplace:
      return column == 1 ? least.twice : any;
    case Family::gamma:
    case Family::gamma_mean:
      return column == 0 ? least.twice : least.once;
    case Family::beta:
    case Family::dirichlet:
    case Family::geometric:
    case Family::exponential:
      return least.twice;
    case Family::poisson:
    case Family::binomial:
    case Family::categorical_free:
      return least.once;
    case Family::categorical:
      return any;
  }
  return any;
}

template <class Real>
class Points {
 public:
  Points(const Problem& problem, std::span<const std::byte> input, const std::string& file)
      : problem_(problem), values_(reinterpret_cast<const Real*>(input.data())), file_(file) {
    for (std::uint64_t column = 0; column < problem.width; ++column)
      least_.push_back(least_of<Real>(problem, column));
  }

  std::string first_beyond() const {
    for (std::uint64_t row = 0; row < problem_.points; ++row) {
      const Real* const theta = values_ + row * problem_.width;
      for (std::uint64_t column = 0; column < problem_.width; ++column) {
        if (theta[column] < least_[column])
          return said(row, ", column " + std::to_string(column) + ": " +
                               number_text(theta[column]) + " makes its matrix larger than " +
                               precision() + " holds; expected: " + number_text(least_[column]) +
                               " or more");
      }
      if (const std::string together = beyond_together(theta); !together.empty())
        return said(row, together);
    }
    return "";
  }

 private:
  std::string beyond_together(const Real* theta) const {
    if (problem_.regime != Regime::closed) return "";
    if (problem_.family == Family::gamma || problem_.family == Family::gamma_mean) {
      const auto most = static_cast<long double>(std::numeric_limits<Real>::max()) / 4;
      const long double a = theta[0], b = theta[1];
      if (a / b / b <= most) return "";
      return ": column 0 over the square of column 1 is more than " + precision() +
             " holds; expected: " + number_text(static_cast<Real>(most)) + " or less";
    }
    if (problem_.family == Family::categorical_free) {
      const Real least =
          static_cast<Real>(problem_.width) * std::numeric_limits<Real>::epsilon() / 2;
      const long double left =
          what_is_left(std::vector<long double>(theta, theta + problem_.width));
      if (left >= least) return "";
      return ": its probabilities leave " + number_text(static_cast<double>(left)) +
             " to the last outcome, less than the roundings of their sum in " + precision() +
             "; expected: " + number_text(least) + " or more";
    }
    return "";
  }
  std::string precision() const { return problem_.wide ? "fp64" : "fp32"; }
  std::string said(std::uint64_t row, const std::string& what) const {
    const bool there_is_more = !problem_.wide && problem_.regime == Regime::closed;
    return "--input: " + file_ + ", row " + std::to_string(row) + what +
           (there_is_more ? ", or --precision fp64" : "");
  }

  const Problem& problem_;
  const Real* values_;
  const std::string& file_;
  std::vector<Real> least_;  // by column
};

}  // namespace

std::string beyond_precision(const Problem& problem, std::span<const std::byte> input,
                             const std::string& file) {
  return problem.wide ? Points<double>(problem, input, file).first_beyond()
                      : Points<float>(problem, input, file).first_beyond();
}

}  // namespace mgpu::fisher
