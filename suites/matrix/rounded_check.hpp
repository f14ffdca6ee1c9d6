// All of C where sums are rounded: by a vector of random signs where no sum can leave the range of
// numbers, element by element where one may.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "suites/matrix/element_check.hpp"

namespace mgpu::matrix {

// Freivalds (Probabilistic machines can use less running time, 1977): C x against A (B x), within
// what rounding may do, for the rows and columns of which the exponents of the largest elements say
// that no product overflows. What is left, infinities and NaN included, is checked element by
// element (ElementCheck); of very much of that, parts spread evenly.
template <class Real>
class RoundedCheck {
 public:
  // Looks at all operands. All must outlive this.
  RoundedCheck(const Problem& problem, const Operands& operands, bool flushed, unsigned threads,
               std::uint64_t seed);

  // Empty: right, else what is not. `method`: what was done.
  std::string check(std::string& method) const;

 private:
  static constexpr int kMost =
      std::numeric_limits<Real>::max_exponent - 3;  // exponent of what surely does not overflow
  int of_operand(int exponent) const;
  std::vector<int> exponents_of_rows() const;
  std::vector<int> exponents_of_columns() const;
  void choose_regular();
  void choose_vector(std::uint64_t seed);
  void multiply_by_vector();
  std::string check_rows() const;
  std::string check_elements(std::string& method) const;

  const Problem& problem_;
  const Operands& operands_;
  bool flushed_;
  unsigned threads_;
  const Real *a_, *b_, *c_, *c_in_;
  std::vector<char> row_is_regular_, column_is_regular_;
  // The vector, 0 for columns that are not regular; what C times it should be, and how far off that
  // may be.
  std::vector<Wide<Real>> vector_, expected_, allowed_;
};

}  // namespace mgpu::matrix
