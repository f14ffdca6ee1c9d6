#include "suites/matrix/rounded_check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "lib/workload/parallel_for.hpp"

namespace mgpu::matrix {
namespace {

constexpr int kNothing = -1'000'000;  // exponent of zero
// Exponent of infinity and NaN, and of values that must be checked element by element.
constexpr int kNoNumber = 1'000'000;

// Returns the exponent of the largest magnitude among the elements that `at` returns. If `flushed`,
// a number below the smallest normal one makes it kNoNumber, because nothing is known of products
// with such a number.
template <class Real, class At>
int largest_exponent(std::uint64_t count, bool flushed, const At& at) {
  Real largest = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Real x = std::abs(at(i));
    if (!std::isfinite(x) || (flushed && x > 0 && x < std::numeric_limits<Real>::min()))
      return kNoNumber;
    largest = std::max(largest, x);
  }
  return largest > 0 ? std::ilogb(largest) : kNothing;
}

}  // namespace

template <class Real>
RoundedCheck<Real>::RoundedCheck(const Problem& problem, const Operands& operands, bool flushed,
                                 unsigned threads, std::uint64_t seed)
    : problem_(problem),
      operands_(operands),
      flushed_(flushed),
      threads_(threads),
      a_(reinterpret_cast<const Real*>(operands.a().data())),
      b_(reinterpret_cast<const Real*>(operands.b().data())),
      c_(reinterpret_cast<const Real*>(operands.c().data())),
      c_in_(problem.reads_c() ? reinterpret_cast<const Real*>(operands.c_in().data()) : nullptr) {
  choose_regular();
  choose_vector(seed);
  multiply_by_vector();
}

// Returns the exponents of rows of A. They are kNoNumber also for rows in which beta C alone may
// overflow.
template <class Real>
std::vector<int> RoundedCheck<Real>::exponents_of_rows() const {
  const std::uint64_t n = problem_.columns, k = problem_.summed();
  std::vector<int> rows(problem_.rows, kNothing);
  parallel_for(problem_.rows, threads_, [&](std::uint64_t i) {
    rows[i] = of_operand(largest_exponent<Real>(
        k, flushed_, [&](std::uint64_t p) { return a_[i * problem_.inner + p]; }));
    if (!c_in_) return;
    const int added =
        largest_exponent<Real>(n, flushed_, [&](std::uint64_t j) { return c_in_[i * n + j]; });
    if (added != kNothing && added + std::ilogb(problem_.beta) + 2 > kMost) rows[i] = kNoNumber;
  });
  return rows;
}

template <class Real>
std::vector<int> RoundedCheck<Real>::exponents_of_columns() const {
  const std::uint64_t n = problem_.columns, k = problem_.summed();
  std::vector<int> columns(n, kNothing);
  constexpr std::uint64_t width = 256;
  parallel_for(k == 0 ? 0 : ceil_div(n, width), threads_, [&](std::uint64_t chunk) {
    const std::uint64_t begin = chunk * width, size = std::min(width, n - begin);
    Real largest[width] = {};
    bool strange[width] = {};
    for (std::uint64_t p = 0; p < k; ++p) {
      for (std::uint64_t j = 0; j < size; ++j) {
        const Real x = std::abs(b_[p * n + begin + j]);
        strange[j] |= !(x <= std::numeric_limits<Real>::max()) ||
                      (flushed_ && x > 0 && x < std::numeric_limits<Real>::min());
        largest[j] = std::max(largest[j], x);
      }
    }
    for (std::uint64_t j = 0; j < size; ++j)
      columns[begin + j] = strange[j]       ? kNoNumber
                           : largest[j] > 0 ? of_operand(std::ilogb(largest[j]))
                                            : kNothing;
  });
  return columns;
}

// TF32 takes numbers next to the largest one for infinity, and loses digits of numbers next to the
// smallest one; their exponents become kNoNumber.
template <class Real>
int RoundedCheck<Real>::of_operand(int exponent) const {
  const bool extreme =
      exponent >= std::numeric_limits<Real>::max_exponent - 2 ||
      (exponent != kNothing && exponent < std::numeric_limits<Real>::min_exponent + 24);
  return problem_.precision == Precision::tf32x3 && extreme ? kNoNumber : exponent;
}

// Chooses the regular rows and columns: as many elements as possible whose row of A and column of B
// have exponents that add up to what a sum of `inner` products can take without overflow.
template <class Real>
void RoundedCheck<Real>::choose_regular() {
  const int of_sum =
      2 + std::ilogb(static_cast<double>(std::max<std::uint64_t>(problem_.summed(), 1))) + 1;
  const int of_alpha = problem_.alpha == 0 ? 0 : std::max(0, std::ilogb(problem_.alpha) + 1),
            bears = kMost - of_sum - of_alpha;
  const std::vector<int> rows = exponents_of_rows(), columns = exponents_of_columns();
  std::map<int, std::uint64_t> row_counts, column_counts;
  for (const int e : rows) ++row_counts[e];
  for (const int e : columns) ++column_counts[e];
  double best = 0;
  int row_limit = kNothing - 1, column_limit = kNothing - 1;
  std::uint64_t of_columns = 0;
  for (const auto& [exponent, count] : column_counts) {
    if (exponent == kNoNumber) break;
    of_columns += count;
    const int limit = exponent == kNothing ? kNoNumber - 1 : bears - exponent;
    std::uint64_t of_rows = 0;
    for (const auto& [e, of_e] : row_counts) of_rows += e <= limit && e != kNoNumber ? of_e : 0;
    const double elements = static_cast<double>(of_columns) * static_cast<double>(of_rows);
    if (elements <= best) continue;
    best = elements;
    row_limit = limit;
    column_limit = exponent;
  }
  for (const int e : rows) row_is_regular_.push_back(e <= row_limit && e != kNoNumber);
  for (const int e : columns) column_is_regular_.push_back(e <= column_limit);
}

// Chooses x: for each column of B a random sign divided by the column's norm, so that every column
// has the same weight. Then the terms of an element have a sum of magnitudes of at most |a_i|
// (Cauchy, Schwarz), and the errors of n elements add up like sqrt(n).
template <class Real>
void RoundedCheck<Real>::choose_vector(std::uint64_t seed) {
  const std::uint64_t n = problem_.columns, k = problem_.summed();
  vector_.assign(n, 0);
  constexpr std::uint64_t width = 1024;
  parallel_for(ceil_div(n, width), threads_, [&](std::uint64_t chunk) {
    const std::uint64_t begin = chunk * width, end = std::min(n, begin + width);
    for (std::uint64_t p = 0; p < k; ++p) {
      for (std::uint64_t j = begin; j < end; ++j) {
        const Wide<Real> x = b_[p * n + j];
        vector_[j] += x * x;
      }
    }
  });
  std::mt19937_64 random(seed);
  for (std::uint64_t j = 0; j < n; ++j) {
    const Wide<Real> norm = std::sqrt(vector_[j]), sign = random() & 1 ? 1 : -1;
    vector_[j] = !column_is_regular_[j] ? 0 : sign / (norm > 0 ? norm : 1);
  }
}

template <class Real>
void RoundedCheck<Real>::multiply_by_vector() {
  const std::uint64_t m = problem_.rows, n = problem_.columns, k = problem_.summed();
  // Elements at which x is 0 may be infinite or NaN, and 0 times these is NaN.
  const auto times = [&](Real element, std::uint64_t j) -> Wide<Real> {
    return vector_[j] == 0 ? 0 : static_cast<Wide<Real>>(element) * vector_[j];
  };
  std::vector<Wide<Real>> bx(k, 0);
  parallel_for(k, threads_, [&](std::uint64_t p) {
    for (std::uint64_t j = 0; j < n; ++j) bx[p] += times(b_[p * n + j], j);
  });
  expected_.assign(m, 0);
  allowed_.assign(m, 0);
  Wide<Real> length = 0;  // sum of the magnitudes of x
  for (const Wide<Real>& x : vector_) length += std::abs(x);
  const Wide<Real> alpha = problem_.alpha, beta = problem_.beta;
  const auto relative = static_cast<Wide<Real>>(error_of<Real>(problem_, k));
  const Wide<Real> absolute =
      length * (static_cast<Wide<Real>>(k) * std::max<Wide<Real>>(1, std::abs(alpha)) + 3) *
      static_cast<Wide<Real>>(step_below_normal<Real>(problem_, flushed_));
  parallel_for(m, threads_, [&](std::uint64_t i) {
    if (!row_is_regular_[i]) return;
    Wide<Real> sum = 0, norm = 0, added = 0, added_norm = 0;
    for (std::uint64_t p = 0; p < k; ++p) {
      const Wide<Real> x = a_[i * problem_.inner + p];
      sum += x * bx[p];
      norm += x * x;
    }
    for (std::uint64_t j = 0; j < n && c_in_; ++j) {
      const Wide<Real> x = times(c_in_[i * n + j], j);
      added += x;
      added_norm += x * x;
    }
    expected_[i] = alpha * sum + beta * added;
    allowed_[i] = relative * (std::abs(alpha) * std::sqrt(norm * static_cast<Wide<Real>>(n)) +
                              8 * std::abs(beta) * std::sqrt(added_norm)) +
                  absolute;
  });
}

template <class Real>
std::string RoundedCheck<Real>::check_rows() const {
  const std::uint64_t m = problem_.rows, n = problem_.columns;
  std::vector<char> wrong(m, 0);
  parallel_for(m, threads_, [&](std::uint64_t i) {
    if (!row_is_regular_[i]) return;
    Wide<Real> sum = 0;
    for (std::uint64_t j = 0; j < n; ++j)
      sum += vector_[j] == 0 ? 0 : static_cast<Wide<Real>>(c_[i * n + j]) * vector_[j];
    wrong[i] = !(std::abs(sum - expected_[i]) <= allowed_[i]);
  });
  const auto first = std::find(wrong.begin(), wrong.end(), 1);
  if (first == wrong.end()) return "";
  return std::to_string(std::count(wrong.begin(), wrong.end(), 1)) + " of " + std::to_string(m) +
         " rows of C differ from the reference by a random vector, the first is row " +
         std::to_string(first - wrong.begin());
}

// Checks the rows that are not regular, and in the others the columns that are not.
template <class Real>
std::string RoundedCheck<Real>::check_elements(std::string& method) const {
  using Part = typename ElementCheck<Real>::Part;
  constexpr std::uint64_t width = ElementCheck<Real>::width;
  const std::uint64_t n = problem_.columns;
  std::vector<std::uint64_t> rows, others;
  for (std::uint64_t i = 0; i < problem_.rows; ++i)
    (row_is_regular_[i] ? others : rows).push_back(i);
  std::vector<Part> of_row, of_other;
  for (std::uint64_t j = 0; j < n; j += width) of_row.push_back({0, j, std::min(width, n - j)});
  std::uint64_t elements_of_other = 0;
  for (std::uint64_t j = 0; j < n; ++j) {
    if (column_is_regular_[j]) continue;
    ++elements_of_other;
    const bool next = !of_other.empty() && of_other.back().begin + of_other.back().size == j &&
                      of_other.back().size < width;
    next ? void(++of_other.back().size) : of_other.push_back({0, j, 1});
  }
  const std::uint64_t elements = rows.size() * n + others.size() * elements_of_other;
  if (elements == 0) return "";
  // The number of parts is what all threads check in about 10 s. Reading an element of a column of
  // B takes eight times as long as one of a row.
  const std::uint64_t of_rows = rows.size() * of_row.size(),
                      parts = of_rows + others.size() * of_other.size();
  const double each = static_cast<double>(elements) / static_cast<double>(parts);
  const double cost = static_cast<double>(problem_.summed() + 1) * std::max(each, 8.0) * 1e-9;
  const auto affordable = static_cast<std::uint64_t>(std::max(64.0, 10.0 * threads_ / cost));
  const std::uint64_t step = ceil_div(parts, affordable), count = ceil_div(parts, step);
  const ElementCheck<Real> check(problem_, operands_, flushed_);
  std::vector<std::string> messages(count);
  parallel_for(count, threads_, [&](std::uint64_t number) {
    const std::uint64_t at = number * step;
    Part part =
        at < of_rows ? of_row[at % of_row.size()] : of_other[(at - of_rows) % of_other.size()];
    part.row = at < of_rows ? rows[at / of_row.size()] : others[(at - of_rows) / of_other.size()];
    double ignored = 0;
    messages[number] = check.check(part, ignored);
  });
  method += ", ";
  if (step > 1) method += "one in " + std::to_string(step) + " of ";
  method += "the " + std::to_string(elements) +
            " elements that may overflow or are no numbers one by one";
  const auto first = std::find_if(messages.begin(), messages.end(),
                                  [](const std::string& message) { return !message.empty(); });
  return first == messages.end() ? "" : *first;
}

template <class Real>
std::string RoundedCheck<Real>::check(std::string& method) const {
  method = "all of C by a random vector in ";
  method += sizeof(Real) == 4 ? "float64" : "80-bit floats";
  const std::string of_rows = check_rows(), of_elements = check_elements(method);
  return of_rows.empty() ? of_elements : of_rows;
}

template class RoundedCheck<float>;
template class RoundedCheck<double>;

}  // namespace mgpu::matrix
