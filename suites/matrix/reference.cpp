// Sampled elements, and all of C by a random vector.
#include "suites/matrix/reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>

#include "lib/workload/parallel_for.hpp"

namespace mgpu::matrix {
namespace {

// What sums of the reference are kept in: twice the digits, so that its own rounding does not count.
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

template <class Real>
const Real* values(std::span<const std::byte> bytes) {
  return reinterpret_cast<const Real*>(bytes.data());
}

// How far a chain of n roundings may be off, in units of the sum of magnitudes: the worst case is n u; with the errors' signs as
// random as they are, 8 sqrt(n) u is not reached (Higham, Mary: A new approach to probabilistic rounding error analysis, 2019).
template <class Real>
double roundings(std::uint64_t n) {
  const double count = static_cast<double>(n);
  return (std::min(count, 8 * std::sqrt(count)) + 4) * static_cast<double>(std::numeric_limits<Real>::epsilon()) / 2;
}

// The same for a problem: emulated products keep 21 bits at least, and of sums of 16 what is cut off is like as much.
template <class Real>
double error_of(const Problem& problem, std::uint64_t n) {
  return roundings<Real>(n) + (problem.precision == Precision::tf32x3 ? std::ldexp(1.0, -20) : 0);
}

// The largest error seen, relative to the magnitude summed.
void note_error(double error, std::string& method) {
  char text[64];
  std::snprintf(text, sizeof text, ", largest error %.1e of the terms' sum", error);
  method += text;
}

// One element of C against its value and the magnitude it was summed from. Empty: right.
template <class Real>
bool differs(Real got, long double expected, long double magnitude, double relative, bool emulated) {
  if (emulated && !std::isfinite(expected)) return std::isfinite(got);  // infinities become NaN when they are split
  if (std::isnan(expected)) return !std::isnan(got);
  if (std::isinf(expected)) return static_cast<long double>(got) != expected;
  if (!std::isfinite(got))
    return magnitude < static_cast<long double>(std::numeric_limits<Real>::max()) / 2;  // overflow on the way
  const long double error = std::abs(static_cast<long double>(got) - expected);
  return error > magnitude * relative + std::numeric_limits<Real>::min();
}

template <class Real>
double relative_error(Real got, long double expected, long double magnitude) {
  const long double error = std::abs(static_cast<long double>(got) - expected);
  return std::isfinite(error) && magnitude > 0 ? static_cast<double>(error / magnitude) : 0;
}

std::string place(std::uint64_t row, std::uint64_t column) {
  return "C[" + std::to_string(row) + "," + std::to_string(column) + "]";
}

}  // namespace

template <class Real>
Reference::Finding Reference::sample(std::uint64_t seed) {
  const std::uint64_t m = problem_.rows, n = problem_.columns, k = problem_.summed();
  const Real *a = values<Real>(operands_.a()), *b = values<Real>(operands_.b()), *c = values<Real>(operands_.c());
  const Real* c_in = problem_.reads_c() ? values<Real>(operands_.c_in()) : nullptr;
  std::mt19937_64 random(seed);
  // As many rows as about 2 s of one core sum.
  const double row_cost = static_cast<double>(n) * static_cast<double>(std::max<std::uint64_t>(k, 1));
  const auto count = static_cast<std::size_t>(std::clamp((sizeof(Real) == 4 ? 2e9 : 1e9) * threads_ / row_cost, 2.0, 12.0));
  std::vector<std::uint64_t> rows{0, m - 1};
  while (rows.size() < count) rows.push_back(random() % m);

  const double relative = error_of<Real>(problem_, k);
  constexpr std::uint64_t width = 512;
  const std::uint64_t chunks = (n + width - 1) / width;
  std::vector<std::string> messages(rows.size() * chunks);
  std::vector<double> errors(messages.size(), 0);
  parallel_for(messages.size(), threads_, [&](std::uint64_t task) {
    const std::uint64_t row = rows[task / chunks], begin = task % chunks * width, size = std::min(width, n - begin);
    Wide<Real> sum[width] = {}, magnitude[width] = {};
    for (std::uint64_t p = 0; p < k; ++p) {
      const Wide<Real> x = a[row * problem_.inner + p];
      for (std::uint64_t j = 0; j < size; ++j) {
        const Wide<Real> product = x * b[p * n + begin + j];
        sum[j] += product;
        magnitude[j] += std::abs(product);
      }
    }
    for (std::uint64_t j = 0; j < size && messages[task].empty(); ++j) {
      const std::uint64_t at = row * n + begin + j;
      const long double added = c_in ? static_cast<long double>(problem_.beta) * c_in[at] : 0;
      const long double expected = static_cast<long double>(problem_.alpha) * sum[j] + added;
      const long double all = std::abs(static_cast<long double>(problem_.alpha)) * magnitude[j] + std::abs(added);
      errors[task] = std::max(errors[task], relative_error(c[at], expected, all));
      if (differs(c[at], expected, all, relative, problem_.precision == Precision::tf32x3))
        messages[task] = place(row, begin + j) + " is " + std::to_string(c[at]) + ", the reference says " +
                         std::to_string(static_cast<double>(expected));
    }
  });
  Finding finding{std::to_string(rows.size()) + " rows in " + (sizeof(Real) == 4 ? "float64" : "80-bit floats"), ""};
  for (const std::string& message : messages) {
    if (finding.message.empty()) finding.message = message;
  }
  if (finding.message.empty()) corners<Real>(random(), finding);
  note_error(*std::max_element(errors.begin(), errors.end()), finding.method);
  return finding;
}

// The corners of random tiles: edges are where kernels go wrong. 32 is the finest edge of a tile, and divides all others.
template <class Real>
void Reference::corners(std::uint64_t seed, Finding& finding) {
  const std::uint64_t m = problem_.rows, n = problem_.columns, k = problem_.summed();
  const Real *a = values<Real>(operands_.a()), *b = values<Real>(operands_.b()), *c = values<Real>(operands_.c());
  const Real* c_in = problem_.reads_c() ? values<Real>(operands_.c_in()) : nullptr;
  constexpr std::uint64_t edge = 32;
  std::mt19937_64 random(seed);
  const double relative = error_of<Real>(problem_, k);
  std::size_t count = 0;
  for (; count < 256; ++count) {
    const std::uint64_t row = std::min(m - 1, random() % m / edge * edge + (count & 1 ? edge - 1 : 0));
    const std::uint64_t column = std::min(n - 1, random() % n / edge * edge + (count & 2 ? edge - 1 : 0));
    const std::uint64_t at = row * n + column;
    Wide<Real> sum = 0, magnitude = 0;
    for (std::uint64_t p = 0; p < k; ++p) {
      const Wide<Real> product = static_cast<Wide<Real>>(a[row * problem_.inner + p]) * b[p * n + column];
      sum += product;
      magnitude += std::abs(product);
    }
    const long double added = c_in ? static_cast<long double>(problem_.beta) * c_in[at] : 0;
    const long double expected = static_cast<long double>(problem_.alpha) * sum + added;
    const long double all = std::abs(static_cast<long double>(problem_.alpha)) * magnitude + std::abs(added);
    if (!differs(c[at], expected, all, relative, problem_.precision == Precision::tf32x3)) continue;
    finding.message = place(row, column) + " is " + std::to_string(c[at]) + ", the reference says " +
                      std::to_string(static_cast<double>(expected));
    return;
  }
  finding.method += ", " + std::to_string(count) + " corners of tiles";
}

// What the operands are: finite, and integers of which no sum is ever rounded.
template <class Real>
void Reference::classify() {
  if (classified_) return;
  classified_ = true;
  struct Seen {
    bool finite = true, integers = true;
    double largest = 0;
  };
  const auto look = [&](std::span<const std::byte> bytes) {
    constexpr std::uint64_t at_once = std::uint64_t{1} << 18;
    const Real* data = values<Real>(bytes);
    const std::uint64_t count = bytes.size() / sizeof(Real);
    std::vector<Seen> parts((count + at_once - 1) / at_once);
    parallel_for(parts.size(), threads_, [&](std::uint64_t part) {
      Seen seen;
      for (std::uint64_t i = part * at_once; i < std::min(count, (part + 1) * at_once); ++i) {
        seen.finite = seen.finite && std::isfinite(data[i]);
        seen.integers = seen.integers && std::trunc(data[i]) == data[i];
        seen.largest = std::max(seen.largest, std::abs(static_cast<double>(data[i])));
      }
      parts[part] = seen;
    });
    Seen all;
    for (const Seen& part : parts)
      all = {all.finite && part.finite, all.integers && part.integers, std::max(all.largest, part.largest)};
    return all;
  };
  const bool product = problem_.summed() > 0;
  const Seen a = product ? look(operands_.a()) : Seen{}, b = product ? look(operands_.b()) : Seen{}, c = look(operands_.c_in());
  finite_ = a.finite && b.finite && c.finite;
  const double sum = static_cast<double>(problem_.summed()) * a.largest * b.largest;
  const double limit = std::ldexp(1.0, std::numeric_limits<Real>::digits);
  // Of integers above 2^11 the product of what TF32 leaves of both is not added.
  const bool kept = problem_.precision != Precision::tf32x3 || std::max(a.largest, b.largest) <= 2048;
  const auto integer = [](double x) { return std::trunc(x) == x; };
  exact_ = finite_ && kept && a.integers && b.integers && c.integers && integer(problem_.alpha) && integer(problem_.beta) &&
           sum * std::max(1.0, std::abs(problem_.alpha)) + std::abs(problem_.beta) * c.largest < limit;
}

template <class Real>
Reference::Finding Reference::exact(std::uint64_t seed) {
  const std::uint64_t m = problem_.rows, n = problem_.columns, k = problem_.summed();
  const auto word = [](Real x) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(x)); };
  if (words_.empty()) {
    std::mt19937_64 random(seed);
    words_.resize(n);
    for (std::uint64_t& x : words_) x = random();
    const Real *a = values<Real>(operands_.a()), *b = values<Real>(operands_.b()), *c_in = values<Real>(operands_.c_in());
    std::vector<std::uint64_t> bx(k);
    parallel_for(k, threads_, [&](std::uint64_t p) {
      for (std::uint64_t j = 0; j < n; ++j) bx[p] += word(b[p * n + j]) * words_[j];
    });
    expected_words_.assign(m, 0);
    parallel_for(m, threads_, [&](std::uint64_t i) {
      std::uint64_t sum = 0, added = 0;
      for (std::uint64_t p = 0; p < k; ++p) sum += word(a[i * problem_.inner + p]) * bx[p];
      for (std::uint64_t j = 0; j < n && problem_.reads_c(); ++j) added += word(c_in[i * n + j]) * words_[j];
      expected_words_[i] = word(static_cast<Real>(problem_.alpha)) * sum + word(static_cast<Real>(problem_.beta)) * added;
    });
  }
  std::vector<char> wrong(m, 0);
  const Real* c = values<Real>(operands_.c());
  constexpr Real limit = static_cast<Real>(std::uint64_t{1} << 62);
  parallel_for(m, threads_, [&](std::uint64_t i) {
    std::uint64_t sum = 0;
    bool integers = true;
    for (std::uint64_t j = 0; j < n; ++j) {
      const Real x = c[i * n + j];
      integers = integers && std::abs(x) < limit && std::trunc(x) == x;
      sum += integers ? word(x) * words_[j] : 0;
    }
    wrong[i] = !integers || sum != expected_words_[i];
  });
  return verdict_of_rows(wrong, "all of C exactly, by a random vector modulo 2^64", "exact integers");
}

template <class Real>
Reference::Finding Reference::rounded(std::uint64_t seed) {
  const std::uint64_t m = problem_.rows, n = problem_.columns;
  if (vector_.empty()) prepare_vector<Real>(seed);
  std::vector<char> wrong(m, 0);
  const Real* c = values<Real>(operands_.c());
  parallel_for(m, threads_, [&](std::uint64_t i) {
    double sum = 0;
    for (std::uint64_t j = 0; j < n; ++j) sum += static_cast<double>(c[i * n + j]) * vector_[j];
    wrong[i] = !(std::abs(sum - expected_[i]) <= allowed_[i]);
  });
  return verdict_of_rows(wrong, "all of C by a random vector in float64", "float64");
}

// x has a sign by chance over the norm of each column of B, so that every column counts alike. Then the magnitude an element is
// summed from is at most |a_i| (Cauchy, Schwarz), and the errors of n elements add up like sqrt(n).
template <class Real>
void Reference::prepare_vector(std::uint64_t seed) {
  const std::uint64_t m = problem_.rows, n = problem_.columns, k = problem_.summed();
  const Real *a = values<Real>(operands_.a()), *b = values<Real>(operands_.b()), *c_in = values<Real>(operands_.c_in());
  vector_.assign(n, 0);
  constexpr std::uint64_t width = 1024;
  parallel_for((n + width - 1) / width, threads_, [&](std::uint64_t chunk) {
    const std::uint64_t begin = chunk * width, end = std::min(n, begin + width);
    for (std::uint64_t p = 0; p < k; ++p) {
      for (std::uint64_t j = begin; j < end; ++j)
        vector_[j] += static_cast<double>(b[p * n + j]) * static_cast<double>(b[p * n + j]);
    }
  });
  std::mt19937_64 random(seed);
  for (double& x : vector_) {
    const double norm = std::sqrt(x);
    x = (random() & 1 ? 1.0 : -1.0) / (norm > 0 ? norm : 1.0);
  }
  std::vector<double> bx(k, 0);
  parallel_for(k, threads_, [&](std::uint64_t p) {
    for (std::uint64_t j = 0; j < n; ++j) bx[p] += static_cast<double>(b[p * n + j]) * vector_[j];
  });
  expected_.assign(m, 0);
  allowed_.assign(m, 0);
  // In fp64 the sums of the reference itself, along n and k, are rounded as coarsely.
  const double relative = error_of<Real>(problem_, k) + (sizeof(Real) == 8 ? roundings<Real>(n) + roundings<Real>(k) : 0);
  parallel_for(m, threads_, [&](std::uint64_t i) {
    double sum = 0, norm = 0, added = 0, added_norm = 0;
    for (std::uint64_t p = 0; p < k; ++p) {
      const double x = a[i * problem_.inner + p];
      sum += x * bx[p];
      norm += x * x;
    }
    for (std::uint64_t j = 0; j < n && problem_.reads_c(); ++j) {
      const double x = static_cast<double>(c_in[i * n + j]) * vector_[j];
      added += x;
      added_norm += x * x;
    }
    expected_[i] = problem_.alpha * sum + problem_.beta * added;
    allowed_[i] = relative * (std::abs(problem_.alpha) * std::sqrt(norm * static_cast<double>(n)) +
                              8 * std::abs(problem_.beta) * std::sqrt(added_norm)) +
                  static_cast<double>(std::numeric_limits<Real>::min());
  });
}

Reference::Finding Reference::verdict_of_rows(const std::vector<char>& wrong, const std::string& method,
                                              const std::string& by) const {
  Finding finding{method, ""};
  const auto first = std::find(wrong.begin(), wrong.end(), 1);
  if (first == wrong.end()) return finding;
  finding.message = std::to_string(std::count(wrong.begin(), wrong.end(), 1)) + " of " + std::to_string(wrong.size()) +
                    " rows of C differ from the reference in " + by + ", the first is row " + std::to_string(first - wrong.begin());
  return finding;
}

Reference::Finding Reference::check_sample(std::uint64_t seed) {
  if (problem_.rows == 0 || problem_.columns == 0) return {"C is empty", ""};
  return problem_.precision == Precision::fp64 ? sample<double>(seed) : sample<float>(seed);
}

Reference::Finding Reference::check_all(std::uint64_t seed) {
  if (problem_.rows == 0 || problem_.columns == 0) return {"nothing to multiply", ""};
  const bool single = problem_.precision != Precision::fp64;
  single ? classify<float>() : classify<double>();
  if (!finite_) return {"not all of C: infinities or NaN in the operands", ""};
  if (exact_) return single ? exact<float>(seed) : exact<double>(seed);
  return single ? rounded<float>(seed) : rounded<double>(seed);
}

}  // namespace mgpu::matrix
