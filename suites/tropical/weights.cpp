#include "suites/tropical/weights.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <type_traits>

#include "lib/base/error.hpp"
#include "lib/workload/parallel_for.hpp"
#include "lib/workload/splitmix64.hpp"
#include "suites/common/number_text.hpp"

namespace mgpu::tropical {
namespace {

constexpr std::uint64_t at_once = std::uint64_t{1} << 18;

// Calls body(begin, end) for parts of [0, n).
template <class Body>
void in_parts(std::uint64_t n, unsigned threads, const Body& body) {
  parallel_for(ceil_div(n, at_once), threads, [&](std::uint64_t part) {
    body(part * at_once, std::min(n, (part + 1) * at_once));
  });
}

bool is_there(const Problem& problem, std::uint64_t bits) {
  return static_cast<double>(bits >> 40) < problem.density * 0x1p24;
}

// Returns a value from the lower 40 bits; the upper ones decide whether the entry exists.
template <class Number>
Number value_of(const Problem& problem, std::uint64_t bits) {
  if (problem.data == Data::uniform)
    return static_cast<Number>(static_cast<double>(bits & 0xffffff) * 0x1p-24);
  return static_cast<Number>(bits % (1u << 20) % 1000 + 1);
}

template <class Number>
std::string text_of(Number number) {
  if constexpr (std::is_same_v<Number, float>)
    return number_text(number);
  else
    return std::to_string(number);
}

}  // namespace

template <class Number>
void fill_operand(const Problem& problem, std::uint64_t seed, std::span<Number> to,
                  unsigned threads) {
  in_parts(to.size(), threads, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      const std::uint64_t bits = splitmix64(seed, i);
      const bool flip = problem.data == Data::negative && (bits >> 39 & 1) != 0;
      const Number value = value_of<Number>(problem, bits);
      to[i] = !is_there(problem, bits) ? nothing<Number>(problem.maximum)
              : flip                   ? static_cast<Number>(-value)
                                       : value;
    }
  });
}

// Negative weights are w + p(u) - p(v) with positive w, so that the potentials cancel out in a
// cycle (Johnson, Efficient algorithms for shortest paths in sparse networks, 1977). In max-plus
// all signs are reversed.
template <class Number>
void fill_graph(const Problem& problem, std::span<Number> to, unsigned threads) {
  const std::uint64_t n = problem.rows, seed = splitmix64(problem.seed, 0),
                      of_vertices = splitmix64(problem.seed, 1);
  const auto potential = [&](std::uint64_t v) {
    return static_cast<Number>(splitmix64(of_vertices, v) % 1000);
  };
  parallel_for(n, threads, [&](std::uint64_t u) {
    for (std::uint64_t v = 0; v < n; ++v) {
      const std::uint64_t bits = splitmix64(seed, u * n + v);
      Number value = value_of<Number>(problem, bits);
      if (problem.data == Data::negative) value = value + potential(u) - potential(v);
      to[u * n + v] = !is_there(problem, bits) || u == v ? nothing<Number>(problem.maximum)
                      : problem.maximum                  ? static_cast<Number>(Number{0} - value)
                                                         : value;
    }
  });
}

template <class Number>
void take_from_file(const std::filesystem::path& file, const Problem& problem, std::uint64_t terms,
                    std::span<Number> numbers) {
  const double count = static_cast<double>(std::max<std::uint64_t>(terms, 1));
  const Number foreign = nothing_in_files<Number>(problem.maximum),
               own = nothing<Number>(problem.maximum);
  const double largest = std::is_same_v<Number, float>
                             ? static_cast<double>(std::numeric_limits<float>::max()) / (2 * count)
                             : std::floor(2 * largest_int32 / std::max(count, 2.0));
  for (std::uint64_t i = 0; i < numbers.size(); ++i) {
    Number& x = numbers[i];
    if (x == foreign) {
      x = own;
    } else if (std::abs(static_cast<double>(x)) <= largest) {
      x = x + Number{0};
    } else {
      throw Error(ErrorKind::input,
                  "--input: " + file.string() + ", entry " + std::to_string(i) + ": " + text_of(x) +
                      "; expected: magnitudes up to " + number_text(largest) +
                      ", so that no sum leaves the range, or " + text_of(foreign) +
                      " where there is none in " + problem.semiring());
    }
  }
}

template <class Number>
void put_nothing_for_files(const Problem& problem, std::span<Number> numbers) {
  std::replace(numbers.begin(), numbers.end(), nothing<Number>(problem.maximum),
               nothing_in_files<Number>(problem.maximum));
}

template <class Number>
bool all_at_least_zero(std::span<const Number> numbers, bool maximum, unsigned threads) {
  const Number none = nothing<Number>(maximum);
  std::atomic<bool> all{true};
  in_parts(numbers.size(), threads, [&](std::uint64_t begin, std::uint64_t end) {
    bool mine = true;
    for (std::uint64_t i = begin; i < end; ++i)
      mine = mine && (numbers[i] >= 0 || numbers[i] == none);
    if (!mine) all = false;
  });
  return all;
}

#define MGPU_FOR(Number)                                                                          \
  template void fill_operand<Number>(const Problem&, std::uint64_t, std::span<Number>, unsigned); \
  template void fill_graph<Number>(const Problem&, std::span<Number>, unsigned);                  \
  template void take_from_file<Number>(const std::filesystem::path&, const Problem&,              \
                                       std::uint64_t, std::span<Number>);                         \
  template void put_nothing_for_files<Number>(const Problem&, std::span<Number>);                 \
  template bool all_at_least_zero<Number>(std::span<const Number>, bool, unsigned);
MGPU_FOR(float)
MGPU_FOR(std::int32_t)
#undef MGPU_FOR

}  // namespace mgpu::tropical
