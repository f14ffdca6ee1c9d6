#include "suites/ntt/reference.hpp"

#include <fmt/format.h>

#include <vector>

#include "lib/workload/parallel_for.hpp"
#include "lib/workload/splitmix64.hpp"

namespace mgpu::ntt {
namespace {

constexpr std::uint64_t at_once = std::uint64_t{1} << 13, points = 64;

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
template <class F>
std::vector<typename F::Value> transformed(const Problem& problem, std::span<const std::byte> input,
                                           unsigned threads) {
  using Value = typename F::Value;
  const std::uint64_t n = problem.n();
  std::vector<Value> x(n), powers(n / 2);
  const Value root = root_of_unity<F>(problem.bits, problem.inverse);
  powers[0] = F::of(1);
  for (std::uint64_t i = 1; i < n / 2; ++i) powers[i] = F::multiply(powers[i - 1], root);
  parallel_for(
      n, threads,
      [&](std::uint64_t i) {
        x[bits_reversed(i, problem.bits)] =
            element<F>(input, place(i, problem.order.in_reversed, problem.bits));
      },
      at_once);
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
  if (problem.inverse) {
    const Value scale = inverse_of_power_of_two<F>(problem.bits);
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

template <class F>
Finding check_in(const Problem& problem, std::span<const std::byte> input,
                 std::span<const std::byte> result, bool whole, std::uint64_t seed,
                 unsigned threads) {
  using Value = typename F::Value;
  const Bytes size = problem.transform_bytes();
  const auto part = [&](std::span<const std::byte> all, std::uint64_t i) {
    return all.subspan(i * size, size);
  };
  Finding finding;
  const std::string root = fmt::format("; root {}^((p - 1) / n)", F::generator);
  const auto compare = [&](std::uint64_t c, std::uint64_t k, const Value& expected) {
    const std::uint64_t at = place(k, problem.order.out_reversed, problem.bits);
    const Value found = element<F>(part(result, c), at);
    if (found == expected || !finding.message.empty()) return;
    finding.message = fmt::format("element {} of transform {} is {}; expected: {}", at, c,
                                  text_of<F>(found), text_of<F>(expected));
  };
  if (whole) {
    finding.method = "every element, with a transform by radix 2 on the host" + root;
    for (std::uint64_t c = 0; c < problem.batch; ++c) {
      const std::vector<Value> expected = transformed<F>(problem, part(input, c), threads);
      for (std::uint64_t k = 0; k < problem.n(); ++k) compare(c, k, expected[k]);
    }
    return finding;
  }
  finding.method = fmt::format("{} elements, with Horner's rule on the host{}", points, root);
  std::vector<Value> expected(points);
  const auto number_of = [&](std::uint64_t i) { return splitmix64(seed, 2 * i) % problem.batch; };
  const auto k_of = [&](std::uint64_t i) { return splitmix64(seed, 2 * i + 1) % problem.n(); };
  parallel_for(points, threads, [&](std::uint64_t i) {
    expected[i] = by_horner<F>(problem, part(input, number_of(i)), k_of(i));
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

}  // namespace mgpu::ntt
