// Checks elements of C one by one against their sums in twice the precision: what IEEE arithmetic
// gives, infinities, NaN and numbers below the smallest normal one included.
#pragma once

#include <span>
#include <string>

#include "suites/matrix/operands.hpp"
#include "suites/matrix/problem.hpp"

namespace mgpu::matrix {

// Returns the bytes as elements.
template <class Real>
const Real* values(std::span<const std::byte> bytes) {
  return reinterpret_cast<const Real*>(bytes.data());
}

// Type of sums in the reference. It has twice the digits and more range, so that its own rounding
// is negligible and no sum overflows.
template <class Real>
struct WideOf {
  using type = double;
};
template <>
struct WideOf<double> {
  using type = long double;
};
template <class Real>
using Wide = typename WideOf<Real>::type;

// Returns the largest error of a chain of n roundings, relative to the sum of magnitudes. The worst
// case is n u; as the signs of errors are random, 8 sqrt(n) u is not reached (Higham, Mary: A new
// approach to probabilistic rounding error analysis, 2019).
template <class Real>
double roundings(std::uint64_t n);
// Returns the same for a problem. Emulated products keep at least 21 bits, and truncation in sums
// of 16 loses about as much.
template <class Real>
double error_of(const Problem& problem, std::uint64_t n);

// Returns the absolute error that a rounding adds for small numbers: one unit in the last place of
// the subnormal numbers, or the smallest normal number if devices flush subnormal numbers to zero.
// Emulated products count as flushed, because the remainder of an operand in TF32 is.
template <class Real>
double step_below_normal(const Problem& problem, bool flushed);

template <class Real>
class ElementCheck {
 public:
  // `flushed`: a device of the run may treat numbers below the smallest normal one, operands
  // included, as zero. All arguments must outlive this.
  ElementCheck(const Problem& problem, const Operands& operands, bool flushed);

  static constexpr std::uint64_t width = 512;  // most elements of a part
  struct Part {                                // part of a row of C
    std::uint64_t row = 0, begin = 0, size = 1;
  };
  // Returns a message about the first wrong element, or an empty one. Raises `largest` to the
  // largest error relative to the sum of magnitudes.
  std::string check(const Part& part, double& largest) const;

 private:
  bool right(std::uint64_t row, std::uint64_t column, long double expected, long double summed,
             long double magnitude) const;
  Real chain(std::uint64_t row, std::uint64_t column) const;
  long double lost_with_operands(std::uint64_t row, std::uint64_t column) const;
  std::string what_is_wrong(std::uint64_t row, std::uint64_t column, long double expected,
                            long double summed) const;
  bool may_leave(long double summed, long double magnitude) const;

  const Problem& problem_;
  const Real *a_, *b_, *c_, *c_in_;
  bool flushed_, emulated_;
  double relative_;
  long double absolute_;
};

}  // namespace mgpu::matrix
