#include "suites/fisher/column_scale.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "lib/workload/parallel_for.hpp"
#include "suites/common/number_text.hpp"

namespace mgpu::fisher {
namespace {

constexpr std::uint64_t rows_at_once = 1024;

template <class Real>
class Scaling {
 public:
  Scaling(const Problem& problem, HostData& data, unsigned threads)
      : problem_(problem),
        threads_(threads),
        width_(problem.width),
        values_(reinterpret_cast<Real*>(data.input().data())),
        params_(reinterpret_cast<Real*>(data.params().data())),
        params_count_(data.params().size() / sizeof(Real)),
        largest_(problem.width, 0),
        smallest_(problem.width, std::numeric_limits<Real>::infinity()) {}

  ColumnScale scale() {
    look();
    constexpr int near = sizeof(Real) == 4 ? 40 : 400;
    std::vector<int> exponents(width_, 0);
    bool any = false;
    for (std::uint64_t k = 0; k < width_; ++k) {
      const int exponent = largest_[k] > 0 ? std::ilogb(largest_[k]) : 0;
      if (std::abs(exponent) <= near) continue;
      exponents[k] = exponent;
      any = true;
    }
    if (!any) return {};
    if (const std::string refused = why_not(exponents); !refused.empty()) return {{}, refused};
    for_chunks([&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t row = begin; row < end; ++row) {
        for (std::uint64_t k = 0; k < width_; ++k)
          values_[row * width_ + k] = std::ldexp(values_[row * width_ + k], -exponents[k]);
      }
    });
    for (std::uint64_t e = 0; e < params_count_; ++e)
      params_[e] = std::ldexp(params_[e], exponents[e % width_]);
    return {exponents, ""};
  }

 private:
  template <class Body>
  void for_chunks(const Body& body) const {
    parallel_for(ceil_div(problem_.points, rows_at_once), threads_, [&](std::uint64_t chunk) {
      body(chunk * rows_at_once, std::min(problem_.points, (chunk + 1) * rows_at_once));
    });
  }

  // Finds the largest and the smallest finite nonzero magnitude of each column.
  void look() {
    std::mutex mutex;
    for_chunks([&](std::uint64_t begin, std::uint64_t end) {
      std::vector<Real> largest(width_, 0), smallest(width_, std::numeric_limits<Real>::infinity());
      for (std::uint64_t row = begin; row < end; ++row) {
        for (std::uint64_t k = 0; k < width_; ++k) {
          const Real x = std::abs(values_[row * width_ + k]);
          if (!(x > 0 && x <= std::numeric_limits<Real>::max())) continue;
          largest[k] = std::max(largest[k], x);
          smallest[k] = std::min(smallest[k], x);
        }
      }
      const std::scoped_lock lock(mutex);
      for (std::uint64_t k = 0; k < width_; ++k) {
        largest_[k] = std::max(largest_[k], largest[k]);
        smallest_[k] = std::min(smallest_[k], smallest[k]);
      }
    });
  }

  std::string why_not(const std::vector<int>& exponents) const {
    const std::string precision = problem_.wide ? "fp64" : "fp32",
                      or_wide = problem_.wide ? "" : "; expected: --precision fp64";
    for (std::uint64_t k = 0; k < width_; ++k) {
      if (exponents[k] == 0) continue;
      const std::string column = "column " + std::to_string(k) + " of the input has numbers from " +
                                 number_text(smallest_[k]) + " to " + number_text(largest_[k]);
      if (std::ldexp(smallest_[k], -exponents[k]) < std::numeric_limits<Real>::min())
        return column + ": sums of their products do not fit " + precision + or_wide;
      // The element of F is the mean square of the scaled column times 2^(2 exponent).
      if (2 * exponents[k] + 2 >= std::numeric_limits<double>::max_exponent &&
          !std::isfinite(
              static_cast<double>(std::ldexp(mean_square(k, exponents[k]), 2 * exponents[k]))))
        return column + ": the mean of their squares is more than float64 holds, which is 1.8e308";
    }
    for (std::uint64_t e = 0; e < params_count_; ++e) {
      const int exponent = exponents[e % width_];
      const Real scaled = std::ldexp(params_[e], exponent);
      if (std::isfinite(scaled) && std::ldexp(scaled, -exponent) == params_[e]) continue;
      return "parameter " + number_text(params_[e]) + " times 2^" + std::to_string(exponent) +
             ", which column " + std::to_string(e % width_) +
             " of the input is divided by, does not fit " + precision + or_wide;
    }
    return "";
  }

  long double mean_square(std::uint64_t column, int exponent) const {
    long double sum = 0;
    for (std::uint64_t row = 0; row < problem_.points; ++row) {
      const long double x =
          std::ldexp(static_cast<long double>(values_[row * width_ + column]), -exponent);
      sum += std::isfinite(x) ? x * x : 0;
    }
    return sum / static_cast<long double>(problem_.points);
  }

  const Problem& problem_;
  unsigned threads_;
  std::uint64_t width_;
  Real *values_, *params_;
  std::uint64_t params_count_;
  std::vector<Real> largest_, smallest_;  // by column
};

}  // namespace

ColumnScale scale_columns(const Problem& problem, HostData& data, unsigned threads) {
  return problem.wide ? Scaling<double>(problem, data, threads).scale()
                      : Scaling<float>(problem, data, threads).scale();
}

}  // namespace mgpu::fisher
