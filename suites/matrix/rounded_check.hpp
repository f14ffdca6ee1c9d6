// Checks all of C if sums are rounded: with a vector of random signs where no sum can overflow,
// element by element where one may.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "suites/matrix/element_check.hpp"

namespace mgpu::matrix {

// Freivalds' check (Probabilistic machines can use less running time, 1977): C x against A (B x),
// within what rounding allows. It covers the rows and columns whose largest exponents show that no
// product overflows. All other elements, infinities and NaN included, are checked one by one
// (ElementCheck); if they are too many, evenly spread parts of them.
template <class Real>
class RoundedCheck {
 public:
  // Reads all operands. All arguments must outlive this.
  RoundedCheck(const Problem& problem, const Operands& operands, bool flushed, unsigned threads,
               std::uint64_t seed);

  // Returns what is wrong, or an empty text. Sets `method` to what was compared.
  std::string check(std::string& method) const;

 private:
  // Largest exponent that is certain not to overflow.
  static constexpr int kMost = std::numeric_limits<Real>::max_exponent - 3;
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
  // The vector, 0 for columns that are not regular; the expected value of C times it; and the error
  // allowed in that.
  std::vector<Wide<Real>> vector_, expected_, allowed_;
};

}  // namespace mgpu::matrix
