// Seeded elements of matrices, from 64 random bits each.
#pragma once

#include <cstdint>
#include <span>

#include "lib/workload/parallel_for.hpp"
#include "lib/workload/splitmix64.hpp"

namespace mgpu {

// Returns a number uniform in [-1, 1), every value exact, or an integer from -4 to 4.
template <class Real>
constexpr Real uniform_element(std::uint64_t bits, bool integer) {
  if (integer) return static_cast<Real>(static_cast<std::int64_t>(bits % 9) - 4);
  constexpr int kept = sizeof(Real) == 4 ? 24 : 53;
  // Converts a signed integer, which is one instruction.
  return static_cast<Real>(static_cast<std::int64_t>(bits >> (64 - kept))) *
             (Real{2} / static_cast<Real>(std::uint64_t{1} << kept)) -
         Real{1};
}

template <class Real>
void fill_uniform(std::span<std::byte> to, std::uint64_t seed, bool integers, unsigned threads) {
  auto* const values = reinterpret_cast<Real*>(to.data());
  const auto fill = [&](std::uint64_t i) {
    values[i] = uniform_element<Real>(splitmix64(seed, i), integers);
  };
  parallel_for(to.size() / sizeof(Real), threads, fill, std::uint64_t{1} << 18);
}

}  // namespace mgpu
