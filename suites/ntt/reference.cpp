#include "suites/ntt/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>
#include <vector>

#include "lib/workload/parallel_for.hpp"
#include "lib/workload/splitmix64.hpp"

namespace mgpu::ntt {
namespace {

constexpr std::uint64_t at_once = std::uint64_t{1} << 13, points = 64;

// Returns log2 of the elements of a transform's result.
unsigned extended_bits(const Problem& problem) {
  return problem.bits +
         (problem.cosets > 1 ? static_cast<unsigned>(std::countr_zero(problem.cosets)) : 0);
}

std::uint64_t bits_reversed(std::uint64_t x, unsigned bits) {
  // Swaps neighbouring bits, pairs of bits, and so on.
  constexpr std::uint64_t ones = ~std::uint64_t{0}, low[] = {ones / 3, ones / 5, ones / 17};
  for (unsigned i = 0; i < 3; ++i) x = (x >> (1u << i) & low[i]) | (x & low[i]) << (1u << i);
  x = __builtin_bswap64(x);
  return bits == 0 ? 0 : x >> (64 - bits);
}

// Places of element i of the input and of a result.
std::uint64_t place(std::uint64_t i, bool reversed, unsigned bits) {
  return reversed ? bits_reversed(i, bits) : i;
}

template <class F>
typename F::Value element(std::span<const std::byte> all, std::uint64_t at) {
  return F::load(all.data() + at * F::bytes);
}

template <class F>
using Values = std::unique_ptr<typename F::Value[]>;

// Transforms 2^bits values that are in bit-reversed order, decimating in time.
template <class F>
class ShortTransform {
 public:
  using Value = typename F::Value;
  ShortTransform(unsigned bits, bool inverse) : powers_((std::uint64_t{1} << bits) / 2, F::of(1)) {
    const Value root = root_of_unity<F>(bits, inverse);
    for (std::uint64_t i = 1; i < powers_.size(); ++i)
      powers_[i] = F::multiply(powers_[i - 1], root);
  }
  void operator()(Value* x) const {
    for (std::uint64_t half = 1, step = powers_.size(); step > 0; half *= 2, step /= 2)
      for (std::uint64_t at = 0; at < 2 * powers_.size(); at += 2 * half)
        for (std::uint64_t j = at; j < at + half; ++j) {
          const Value a = x[j], b = F::multiply(x[j + half], powers_[(j - at) * step]);
          x[j] = F::add(a, b);
          x[j + half] = F::subtract(a, b);
        }
  }

 private:
  std::vector<Value> powers_;
};

// Transforms by rows and columns, each of which fits a cache (Bailey, FFTs in external or
// hierarchical memory, 1990): with i = q + rows m and k = l + columns s, the root w of order n has
// w^(i k) = w^(rows m l) w^(q l) w^(columns q s). Threads take a cache line of neighbouring rows or
// columns at a time. `element_at` returns element i of the input.
template <class F, class At>
Values<F> transformed(unsigned bits, bool inverse, const At& element_at, unsigned threads) {
  using Value = typename F::Value;
  const unsigned column_bits = bits / 2, row_bits = bits - column_bits;
  const std::uint64_t columns = std::uint64_t{1} << column_bits,
                      rows = std::uint64_t{1} << row_bits;
  const ShortTransform<F> of_row(column_bits, inverse), of_column(row_bits, inverse);
  const Value root = root_of_unity<F>(bits, inverse),
              scale = inverse ? inverse_of_power_of_two<F>(bits) : F::of(1);
  Values<F> x = std::make_unique_for_overwrite<Value[]>(rows * columns);
  constexpr std::uint64_t line = 64 / sizeof(Value);
  const auto each_line = [&](std::uint64_t count, std::uint64_t length, const auto& body) {
    parallel_for(ceil_div(count, line), threads, [&](std::uint64_t part) {
      std::vector<Value> lanes(line * length);
      body(part * line, std::min(count, (part + 1) * line), lanes);
    });
  };
  each_line(rows, columns, [&](std::uint64_t begin, std::uint64_t end, auto& lanes) {
    for (std::uint64_t m = 0; m < columns; ++m) {
      Value* const to = lanes.data() + bits_reversed(m, column_bits);
      for (std::uint64_t q = begin; q < end; ++q)
        to[(q - begin) * columns] = element_at(q + rows * m);
    }
    for (std::uint64_t q = begin; q < end; ++q) {
      Value* const row = lanes.data() + (q - begin) * columns;
      of_row(row);
      const Value step = power<F>(root, Limbs{q, 0, 0, 0});
      Value turn = scale;
      for (std::uint64_t l = 0; l < columns; ++l, turn = F::multiply(turn, step))
        x[q * columns + l] = F::multiply(row[l], turn);
    }
  });
  each_line(columns, rows, [&](std::uint64_t begin, std::uint64_t end, auto& lanes) {
    for (std::uint64_t q = 0; q < rows; ++q) {
      Value* const to = lanes.data() + bits_reversed(q, row_bits);
      for (std::uint64_t l = begin; l < end; ++l) to[(l - begin) * rows] = x[q * columns + l];
    }
    for (std::uint64_t l = begin; l < end; ++l) of_column(lanes.data() + (l - begin) * rows);
    for (std::uint64_t s = 0; s < rows; ++s)
      for (std::uint64_t l = begin; l < end; ++l)
        x[s * columns + l] = lanes[(l - begin) * rows + s];
  });
  return x;
}

template <class F>
typename F::Value by_horner(const Problem& problem, std::span<const std::byte> input,
                            std::uint64_t k) {
  const typename F::Value at =
      power<F>(root_of_unity<F>(problem.bits, problem.inverse), Limbs{k, 0, 0, 0});
  typename F::Value sum = F::of(0);
  for (std::uint64_t i = problem.n(); i-- > 0;)
    sum = F::add(F::multiply(sum, at),
                 element<F>(input, place(i, problem.order.in_reversed, problem.bits)));
  return problem.inverse ? F::multiply(sum, inverse_of_power_of_two<F>(problem.bits)) : sum;
}

template <class F>
std::string text_of(const typename F::Value& value) {
  const Limbs limbs = F::limbs(value);
  std::string text;
  for (std::size_t i = 4; i-- > 0;)
    if (!text.empty() || limbs[i] != 0 || i == 0)
      text += text.empty() ? fmt::format("{:x}", limbs[i]) : fmt::format("{:016x}", limbs[i]);
  return "0x" + text;
}

// Returns the values of the column's polynomial on the whole domain of its extension, in natural
// order.
template <class F>
Values<F> extended(const Problem& problem, std::span<const std::byte> column, unsigned threads) {
  using Value = typename F::Value;
  const std::uint64_t n = problem.n(), cosets = problem.cosets;
  const Values<F> coefficients = transformed<F>(
      problem.bits, true, [&](std::uint64_t i) { return element<F>(column, i); }, threads);
  const Value root = root_of_unity<F>(extended_bits(problem), false);
  Values<F> all = std::make_unique_for_overwrite<Value[]>(cosets * n);
  for (std::uint64_t coset = 0; coset < cosets; ++coset) {
    const Value step = coset == 0 ? F::of(F::generator) : root;
    parallel_for(ceil_div(n, at_once), threads, [&](std::uint64_t part) {
      Value scale = power<F>(step, Limbs{part * at_once, 0, 0, 0});
      for (std::uint64_t i = part * at_once; i < std::min(n, (part + 1) * at_once); ++i) {
        coefficients[i] = F::multiply(coefficients[i], scale);
        scale = F::multiply(scale, step);
      }
    });
    const Values<F> values = transformed<F>(
        problem.bits, false, [&](std::uint64_t i) { return coefficients[i]; }, threads);
    parallel_for(
        n, threads, [&](std::uint64_t k) { all[k * cosets + coset] = values[k]; }, at_once);
  }
  return all;
}

template <class F>
Values<F> whole_result(const Problem& problem, std::span<const std::byte> input, unsigned threads) {
  if (problem.cosets > 0) return extended<F>(problem, input, threads);
  return transformed<F>(
      problem.bits, problem.inverse,
      [&](std::uint64_t i) {
        return element<F>(input, place(i, problem.order.in_reversed, problem.bits));
      },
      threads);
}

// Returns the value of the column's polynomial at point k of the extended domain by the barycentric
// formula, (x^n - 1) / n times the sum of v_i w^i / (x - w^i), as one fraction.
template <class F>
typename F::Value by_values(const Problem& problem, std::span<const std::byte> column,
                            std::uint64_t k) {
  using Value = typename F::Value;
  const Value root = root_of_unity<F>(problem.bits, false),
              x = F::multiply(
                  F::of(F::generator),
                  power<F>(root_of_unity<F>(extended_bits(problem), false), Limbs{k, 0, 0, 0}));
  Value above = F::of(0), below = F::of(1), w = F::of(1);
  for (std::uint64_t i = 0; i < problem.n(); ++i) {
    const Value distance = F::subtract(x, w);
    above = F::add(F::multiply(above, distance),
                   F::multiply(F::multiply(element<F>(column, i), w), below));
    below = F::multiply(below, distance);
    w = F::multiply(w, root);
  }
  // The product of all distances is x^n - 1.
  return F::multiply(above, inverse_of_power_of_two<F>(problem.bits));
}

template <class F>
Finding check_in(const Problem& problem, std::span<const std::byte> input,
                 std::span<const std::byte> result, bool whole, std::uint64_t seed,
                 unsigned threads) {
  using Value = typename F::Value;
  const auto part = [&](std::span<const std::byte> all, std::uint64_t i) {
    const Bytes size = all.size() / problem.batch;
    return all.subspan(i * size, size);
  };
  Finding finding;
  std::string root = fmt::format("; root {}^((p - 1) / n)", F::generator);
  if (problem.cosets > 0)
    root += fmt::format("; cosets of {}, rows in bit-reversed order", F::generator);
  std::atomic<bool> differs{false};
  const auto compare = [&](std::uint64_t c, std::uint64_t k, const Value& expected) {
    const std::uint64_t at = place(k, problem.order.out_reversed, extended_bits(problem));
    const Value found = element<F>(part(result, c), at);
    if (found == expected || differs.exchange(true)) return;
    finding.message = fmt::format("element {} of transform {} is {}; expected: {}", at, c,
                                  text_of<F>(found), text_of<F>(expected));
  };
  const std::uint64_t length = std::uint64_t{1} << extended_bits(problem);
  // Multiplications per element of a transform, of which a sample does not need to take more.
  const std::uint64_t transforms = problem.batch * (problem.cosets > 0 ? problem.cosets + 1 : 1),
                      by_transforms = transforms * problem.bits / 2,
                      by_points = points * (problem.cosets > 0 ? 4 : 1);
  if (whole || by_transforms <= by_points) {
    finding.method = "every element, with a transform by radix 2 on the host" + root;
    for (std::uint64_t c = 0; c < problem.batch; ++c) {
      const Values<F> expected = whole_result<F>(problem, part(input, c), threads);
      parallel_for(
          length, threads, [&](std::uint64_t k) { compare(c, k, expected[k]); }, at_once);
    }
    return finding;
  }
  finding.method =
      fmt::format("{} elements, with {} on the host{}", points,
                  problem.cosets > 0 ? "the barycentric formula" : "Horner's rule", root);
  std::vector<Value> expected(points);
  const auto number_of = [&](std::uint64_t i) { return splitmix64(seed, 2 * i) % problem.batch; };
  const auto k_of = [&](std::uint64_t i) { return splitmix64(seed, 2 * i + 1) % length; };
  parallel_for(points, threads, [&](std::uint64_t i) {
    const std::span<const std::byte> from = part(input, number_of(i));
    expected[i] = problem.cosets > 0 ? by_values<F>(problem, from, k_of(i))
                                     : by_horner<F>(problem, from, k_of(i));
  });
  for (std::uint64_t i = 0; i < points; ++i) compare(number_of(i), k_of(i), expected[i]);
  return finding;
}

}  // namespace

Finding check(const Problem& problem, std::span<const std::byte> input,
              std::span<const std::byte> result, bool whole, std::uint64_t seed, unsigned threads) {
  return with_field(problem.field, [&](auto f) {
    return check_in<decltype(f)>(problem, input, result, whole, seed, threads);
  });
}

namespace {

// Calls use with the problem's field, which has 31 bits.
template <class Use>
auto in_small_field(const Problem& problem, const Use& use) {
  return problem.field == Field::babybear ? use(BabyBear{}) : use(KoalaBear{});
}

}  // namespace

std::vector<std::uint32_t> extended_column(const Problem& problem,
                                           std::span<const std::byte> column, unsigned threads) {
  return in_small_field(problem, [&](auto f) {
    using F = decltype(f);
    const auto values = problem.cosets > 0 ? extended<F>(problem, column, threads) : Values<F>();
    std::vector<std::uint32_t> rows(problem.rows());
    for (std::uint64_t i = 0; i < rows.size(); ++i)
      rows[i] = static_cast<std::uint32_t>(problem.cosets > 0
                                               ? values[bits_reversed(i, extended_bits(problem))]
                                               : element<F>(column, i));
    return rows;
  });
}

std::uint64_t extended_element(const Problem& problem, std::span<const std::byte> column,
                               std::uint64_t row) {
  return in_small_field(problem, [&](auto f) {
    using F = decltype(f);
    if (problem.cosets == 0) return element<F>(column, row);
    return by_values<F>(problem, column, bits_reversed(row, extended_bits(problem)));
  });
}

}  // namespace mgpu::ntt
