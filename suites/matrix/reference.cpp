// Checks sampled elements, and all of C in exact integers. suites/matrix/rounded_check.cpp checks C
// with rounding.
#include "suites/matrix/reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>

#include "lib/workload/parallel_for.hpp"
#include "suites/matrix/element_check.hpp"

namespace mgpu::matrix {
namespace {

// Appends the largest error seen, relative to the sum of magnitudes.
void note_error(double error, std::string& method) {
  char text[64];
  std::snprintf(text, sizeof text, ", largest error %.1e of the terms' sum", error);
  method += text;
}

}  // namespace

// Checks whole rows, and the corners of random tiles, since kernels tend to fail at edges. 32 is
// the smallest edge of a tile, and divides all others.
template <class Real>
Reference::Finding Reference::sample(std::uint64_t seed) {
  using Part = typename ElementCheck<Real>::Part;
  constexpr std::uint64_t width = ElementCheck<Real>::width, edge = 32, corners = 256;
  const std::uint64_t m = problem_.rows, n = problem_.columns, k = problem_.summed();
  std::mt19937_64 random(seed);
  // The number of rows is what all threads sum in about 2 s, from 2 to 12.
  const double row_cost =
      static_cast<double>(n) * static_cast<double>(std::max<std::uint64_t>(k, 1));
  const auto count = static_cast<std::size_t>(
      std::clamp((sizeof(Real) == 4 ? 2e9 : 1e9) * threads_ / row_cost, 2.0, 12.0));
  std::vector<std::uint64_t> rows{0, m - 1};
  while (rows.size() < count) rows.push_back(random() % m);

  std::vector<Part> parts;
  for (const std::uint64_t row : rows) {
    for (std::uint64_t begin = 0; begin < n; begin += width)
      parts.push_back({row, begin, std::min(width, n - begin)});
  }
  for (std::uint64_t corner = 0; corner < corners; ++corner) {
    const std::uint64_t row =
        std::min(m - 1, random() % m / edge * edge + (corner & 1 ? edge - 1 : 0));
    parts.push_back(
        {row, std::min(n - 1, random() % n / edge * edge + (corner & 2 ? edge - 1 : 0)), 1});
  }
  const ElementCheck<Real> check(problem_, operands_, flushed_);
  std::vector<std::string> messages(parts.size());
  std::vector<double> errors(parts.size(), 0);
  parallel_for(parts.size(), threads_,
               [&](std::uint64_t i) { messages[i] = check.check(parts[i], errors[i]); });
  Finding finding{std::to_string(rows.size()) + " rows in " +
                      (sizeof(Real) == 4 ? "float64" : "80-bit floats") + ", " +
                      std::to_string(corners) + " corners of tiles",
                  ""};
  const auto wrong = std::find_if(messages.begin(), messages.end(),
                                  [](const std::string& message) { return !message.empty(); });
  if (wrong != messages.end()) finding.message = *wrong;
  note_error(*std::max_element(errors.begin(), errors.end()), finding.method);
  return finding;
}

// Finds out whether the operands are integers whose sums are never rounded.
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
    std::vector<Seen> parts(ceil_div(count, at_once));
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
      all = {all.finite && part.finite, all.integers && part.integers,
             std::max(all.largest, part.largest)};
    return all;
  };
  const bool product = problem_.summed() > 0;
  const Seen a = product ? look(operands_.a()) : Seen{}, b = product ? look(operands_.b()) : Seen{},
             c = look(operands_.c_in());
  const double sum = static_cast<double>(problem_.summed()) * a.largest * b.largest;
  const double limit = std::ldexp(1.0, std::numeric_limits<Real>::digits);
  // TF32 leaves remainders of integers above 2^11, and the product of two remainders is not added.
  const bool kept =
      problem_.precision != Precision::tf32x3 || std::max(a.largest, b.largest) <= 2048;
  const auto integer = [](double x) { return std::trunc(x) == x; };
  exact_ =
      a.finite && b.finite && c.finite && kept && a.integers && b.integers && c.integers &&
      integer(problem_.alpha) && integer(problem_.beta) &&
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
    const Real *a = values<Real>(operands_.a()), *b = values<Real>(operands_.b()),
               *c_in = values<Real>(operands_.c_in());
    std::vector<std::uint64_t> bx(k);
    parallel_for(k, threads_, [&](std::uint64_t p) {
      for (std::uint64_t j = 0; j < n; ++j) bx[p] += word(b[p * n + j]) * words_[j];
    });
    expected_words_.assign(m, 0);
    parallel_for(m, threads_, [&](std::uint64_t i) {
      std::uint64_t sum = 0, added = 0;
      for (std::uint64_t p = 0; p < k; ++p) sum += word(a[i * problem_.inner + p]) * bx[p];
      for (std::uint64_t j = 0; j < n && problem_.reads_c(); ++j)
        added += word(c_in[i * n + j]) * words_[j];
      expected_words_[i] = word(static_cast<Real>(problem_.alpha)) * sum +
                           word(static_cast<Real>(problem_.beta)) * added;
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
  Finding finding{"all of C exactly, by a random vector modulo 2^64", ""};
  const auto first = std::find(wrong.begin(), wrong.end(), 1);
  if (first != wrong.end()) {
    finding.message = std::to_string(std::count(wrong.begin(), wrong.end(), 1)) + " of " +
                      std::to_string(m) +
                      " rows of C differ from the reference in exact integers, the first is row " +
                      std::to_string(first - wrong.begin());
  }
  return finding;
}

template <class Real>
Reference::Finding Reference::rounded(std::optional<RoundedCheck<Real>>& check,
                                      std::uint64_t seed) {
  if (!check) check.emplace(problem_, operands_, flushed_, threads_, seed);
  Finding finding;
  finding.message = check->check(finding.method);
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
  if (exact_) return single ? exact<float>(seed) : exact<double>(seed);
  return single ? rounded(rounded_fp32_, seed) : rounded(rounded_fp64_, seed);
}

}  // namespace mgpu::matrix
