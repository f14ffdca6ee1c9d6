#include "suites/pac/tables.hpp"

#include <numbers>

namespace mgpu::pac {
namespace {

// Returns cos and sin of the fraction m / n of a turn, exact if they are 0 or 1.
Float2 direction(std::uint64_t m, std::uint64_t n) {
  m %= n;
  if (4 * m % n == 0) {
    constexpr Float2 quarters[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    return quarters[4 * m / n];
  }
  const double angle = 2 * std::numbers::pi * static_cast<double>(m) / static_cast<double>(n);
  return {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
}

std::uint64_t power(std::uint64_t base, std::uint64_t exponent) {
  std::uint64_t result = 1;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) result = result * base % prime;
    base = base * base % prime;
  }
  return result;
}

constexpr std::uint64_t generator = 3;  // generator of the prime's multiplicative group

}  // namespace

FilterTables filter_tables(const Problem& problem) {
  FilterTables tables;
  const std::uint64_t n = problem.samples, half = n / 2 + 1;
  for (std::uint64_t m = 0; m < n; ++m) tables.roots.push_back(direction(n - m, n));
  // Border j is at -pi + 2 pi j / bins, half a turn before j / bins of a turn.
  for (std::uint64_t j = 0; j < problem.bins; ++j)
    tables.directions.push_back(direction(2 * j + problem.bins, 2 * std::uint64_t{problem.bins}));
  for (const Bands* bands : {&problem.phase, &problem.amplitude}) {
    for (std::uint64_t band = 0; band < bands->count; ++band) {
      Uint2 range{0, 0};
      for (std::uint64_t k = 0; k < half; ++k) {
        // The factor 2 makes up for the negative frequency, which is dropped.
        const double passed =
            2 *
            response(*bands, band, static_cast<double>(k) * problem.fs / static_cast<double>(n));
        tables.responses.push_back(static_cast<float>(passed / static_cast<double>(n)));
        if (passed == 0) continue;
        if (range[1] == 0) range[0] = static_cast<std::uint32_t>(k);
        range[1] = static_cast<std::uint32_t>(k + 1);
      }
      tables.ranges.push_back(range);
    }
  }
  return tables;
}

Uint2 with_quotient(std::uint64_t w) {
  return {static_cast<std::uint32_t>(w), static_cast<std::uint32_t>((w << 32) / prime)};
}

std::uint64_t transform_factor(std::uint64_t length) {
  return (std::uint64_t{1} << 32) % prime * power(length, prime - 2) % prime;
}

std::vector<Uint2> transform_roots(unsigned log2_length, bool up) {
  std::vector<Uint2> roots;
  for (unsigned pass = 0; pass < log2_length / 4; ++pass) {
    const std::uint64_t stride = std::uint64_t{1} << (log2_length - 4 * (pass + 1));
    for (std::uint64_t half = 8; half > 0; half /= 2) {
      std::uint64_t root = power(generator, (prime - 1) / (2 * half * stride));
      if (up) root = power(root, prime - 2);
      for (std::uint64_t j = 0; j < half; ++j)
        for (std::uint64_t low = 0; low < stride; ++low)
          roots.push_back(with_quotient(power(root, j * stride + low)));
    }
  }
  return roots;
}

}  // namespace mgpu::pac
