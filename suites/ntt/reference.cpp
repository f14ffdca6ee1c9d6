#include "suites/ntt/reference.hpp"

#include <fmt/format.h>

#include <bit>
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
  std::uint64_t out = 0;
  for (unsigned i = 0; i < bits; ++i) out |= (x >> i & 1) << (bits - 1 - i);
  return out;
}

// Places of element i of the input and of a result.
std::uint64_t place(std::uint64_t i, bool reversed, unsigned bits) {
  return reversed ? bits_reversed(i, bits) : i;
}

template <class F>
typename F::Value element(std::span<const std::byte> all, std::uint64_t at) {
  return F::load(all.data() + at * F::bytes);
}

// Decimates in time: the input in bit-reversed order becomes the result in natural order.
// `element_at` returns element i of the input.
template <class F, class At>
std::vector<typename F::Value> transformed(unsigned bits, bool inverse, const At& element_at,
                                           unsigned threads) {
  using Value = typename F::Value;
  const std::uint64_t n = std::uint64_t{1} << bits;
  std::vector<Value> x(n), powers(n / 2);
  const Value root = root_of_unity<F>(bits, inverse);
  powers[0] = F::of(1);
  for (std::uint64_t i = 1; i < n / 2; ++i) powers[i] = F::multiply(powers[i - 1], root);
  parallel_for(
      n, threads, [&](std::uint64_t i) { x[bits_reversed(i, bits)] = element_at(i); }, at_once);
  for (std::uint64_t half = 1; half < n; half *= 2)
    parallel_for(
        n / 2, threads,
        [&](std::uint64_t i) {
          const std::uint64_t j = i % half, at = (i - j) * 2 + j;
          const Value a = x[at], b = F::multiply(x[at + half], powers[j * (n / 2 / half)]);
          x[at] = F::add(a, b);
          x[at + half] = F::subtract(a, b);
        },
        at_once);
  if (inverse) {
    const Value scale = inverse_of_power_of_two<F>(bits);
    parallel_for(
        n, threads, [&](std::uint64_t i) { x[i] = F::multiply(x[i], scale); }, at_once);
  }
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
std::vector<typename F::Value> extended(const Problem& problem, std::span<const std::byte> column,
                                        unsigned threads) {
  using Value = typename F::Value;
  std::vector<Value> coefficients = transformed<F>(
      problem.bits, true, [&](std::uint64_t i) { return element<F>(column, i); }, threads);
  const Value root = root_of_unity<F>(extended_bits(problem), false);
  std::vector<Value> all(problem.cosets * problem.n());
  for (std::uint64_t coset = 0; coset < problem.cosets; ++coset) {
    Value step = coset == 0 ? F::of(F::generator) : root, scale = F::of(1);
    for (Value& coefficient : coefficients) {
      coefficient = F::multiply(coefficient, scale);
      scale = F::multiply(scale, step);
    }
    const std::vector<Value> values = transformed<F>(
        problem.bits, false, [&](std::uint64_t i) { return coefficients[i]; }, threads);
    for (std::uint64_t k = 0; k < problem.n(); ++k) all[k * problem.cosets + coset] = values[k];
  }
  return all;
}

template <class F>
std::vector<typename F::Value> whole_result(const Problem& problem,
                                            std::span<const std::byte> input, unsigned threads) {
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
  const auto compare = [&](std::uint64_t c, std::uint64_t k, const Value& expected) {
    const std::uint64_t at = place(k, problem.order.out_reversed, extended_bits(problem));
    const Value found = element<F>(part(result, c), at);
    if (found == expected || !finding.message.empty()) return;
    finding.message = fmt::format("element {} of transform {} is {}; expected: {}", at, c,
                                  text_of<F>(found), text_of<F>(expected));
  };
  if (whole) {
    finding.method = "every element, with a transform by radix 2 on the host" + root;
    for (std::uint64_t c = 0; c < problem.batch; ++c) {
      const std::vector<Value> expected = whole_result<F>(problem, part(input, c), threads);
      for (std::uint64_t k = 0; k < expected.size(); ++k) compare(c, k, expected[k]);
    }
    return finding;
  }
  finding.method =
      fmt::format("{} elements, with {} on the host{}", points,
                  problem.cosets > 0 ? "the barycentric formula" : "Horner's rule", root);
  const std::uint64_t length = std::uint64_t{1} << extended_bits(problem);
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
    const auto values =
        problem.cosets > 0 ? extended<F>(problem, column, threads) : std::vector<std::uint64_t>();
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
