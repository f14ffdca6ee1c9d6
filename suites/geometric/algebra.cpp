#include "suites/geometric/algebra.hpp"

#include <bit>
#include <charconv>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"

namespace mgpu::geometric {
namespace {

unsigned grade(unsigned blade) { return static_cast<unsigned>(std::popcount(blade)); }

// Returns the signs of all products of two blades, row by row. The algebra is doubled vector by
// vector. With e the next vector, which comes last in a blade, (A e)(B e) = A (e B) e, and e
// changes the sign once for each vector of B that it passes.
std::vector<int> signs_of(const Signature& signature) {
  std::vector<int> signs{1};
  unsigned size = 1;
  for (unsigned vector = 0; vector < signature.vectors(); ++vector, size *= 2) {
    const int square = vector < signature.positive                        ? 1
                       : vector < signature.positive + signature.negative ? -1
                                                                          : 0;
    std::vector<int> doubled(std::size_t{4} * size * size);
    for (unsigned left = 0; left < 2 * size; ++left) {
      for (unsigned right = 0; right < 2 * size; ++right) {
        const bool with_left = left >= size, with_right = right >= size;
        int sign = signs[(left % size) * size + right % size];
        if (with_left && grade(right % size) % 2 == 1) sign = -sign;
        if (with_left && with_right) sign *= square;
        doubled[std::size_t{left} * 2 * size + right] = sign;
      }
    }
    signs = std::move(doubled);
  }
  return signs;
}

bool belongs(Operation operation, unsigned left, unsigned right) {
  const unsigned l = grade(left), r = grade(right), of_product = grade(left ^ right);
  if (operation == Operation::outer) return of_product == l + r;
  if (operation == Operation::inner) return of_product == (l > r ? l - r : r - l);
  if (operation == Operation::left_contraction) return l <= r && of_product == r - l;
  return true;
}

}  // namespace

std::string Signature::text() const {
  return std::to_string(positive) + ',' + std::to_string(negative) + ',' + std::to_string(null);
}

Signature signature_of(const std::string& text) {
  unsigned counts[3] = {};
  const char *at = text.data(), *const end = text.data() + text.size();
  bool right = true;
  for (unsigned i = 0; i < 3 && right; ++i) {
    const auto [after, error] = std::from_chars(at, end, counts[i]);
    right = error == std::errc() && counts[i] <= most_vectors &&
            (i < 2 ? after != end && *after == ',' : after == end);
    at = right && i < 2 ? after + 1 : after;
  }
  if (right && counts[0] + counts[1] + counts[2] <= most_vectors)
    return {counts[0], counts[1], counts[2]};
  throw Error(
      ErrorKind::usage,
      "--algebra: " + in_quotes(text) +
          "; expected: P,Q,R, counts of vectors whose squares are 1, -1 and 0, at most 5 in all");
}

std::vector<std::vector<Term>> terms_of(const Signature& signature, Operation operation) {
  const unsigned n = signature.components();
  const std::vector<int> signs = signs_of(signature);
  std::vector<std::vector<Term>> terms(n);
  for (unsigned left = 0; left < n; ++left) {
    for (unsigned right = 0; right < n; ++right) {
      const int sign = signs[left * n + right];
      if (sign != 0 && belongs(operation, left, right))
        terms[left ^ right].push_back({left, right, sign < 0});
    }
  }
  return terms;
}

std::uint64_t multiply_adds(const Signature& signature, Operation operation) {
  std::uint64_t count = 0;
  for (const auto& terms :
       terms_of(signature, operation == Operation::sandwich ? Operation::geometric : operation))
    count += terms.size();
  return operation == Operation::sandwich ? 2 * count : count;
}

}  // namespace mgpu::geometric
