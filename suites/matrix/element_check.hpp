// Elements of C one by one, each against its sum in twice the digits: what IEEE arithmetic makes of
// it, infinities, NaN and numbers below the smallest normal one included.
#pragma once

#include <span>
#include <string>

#include "suites/matrix/operands.hpp"
#include "suites/matrix/problem.hpp"

namespace mgpu::matrix {

// The elements that these bytes are.
template <class Real>
const Real* values(std::span<const std::byte> bytes) {
  return reinterpret_cast<const Real*>(bytes.data());
}

// What sums of the reference are kept in: twice the digits and more range, so that its own rounding
// does not count and nothing that is summed leaves it.
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

// How far a chain of n roundings may be off, in units of the sum of magnitudes: the worst case is n
// u; with the errors' signs as random as they are, 8 sqrt(n) u is not reached (Higham, Mary: A new
// approach to probabilistic rounding error analysis, 2019).
template <class Real>
double roundings(std::uint64_t n);
// The same for a problem: emulated products keep 21 bits at least, and of sums of 16 what is cut
// off is like as much.
template <class Real>
double error_of(const Problem& problem, std::uint64_t n);

// Besides, each of so many roundings is off by half a unit in the last place of the subnormal
// numbers at most, or, where devices flush these to zero, by the smallest normal number. Emulated
// products count as flushed: what TF32 leaves of an operand is.
template <class Real>
double step_below_normal(const Problem& problem, bool flushed);

template <class Real>
class ElementCheck {
 public:
  // `flushed`: a device of the run may take numbers below the smallest normal one, operands too,
  // for zero. All must outlive this.
  ElementCheck(const Problem& problem, const Operands& operands, bool flushed);

  static constexpr std::uint64_t width = 512;  // elements of a part, at most
  struct Part {                                // of a row of C
    std::uint64_t row = 0, begin = 0, size = 1;
  };
  // Empty: right, else the first that is not. `largest`, if smaller, becomes the largest error
  // relative to the magnitude summed.
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
