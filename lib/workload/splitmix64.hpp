// Seeded data that does not depend on the order in which it is generated, so that threads and
// devices can generate parts of it.
#pragma once

#include <cstdint>

namespace mgpu {

// Returns number n of the SplitMix64 sequence that starts at `seed` (Steele, Lea, Flood: Fast
// splittable pseudorandom number generators, OOPSLA 2014).
constexpr std::uint64_t splitmix64(std::uint64_t seed, std::uint64_t n) {
  std::uint64_t z = seed + (n + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

}  // namespace mgpu
