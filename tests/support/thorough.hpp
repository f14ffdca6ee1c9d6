// The two tiers of tests. CI runs the quick one at every change: each kind of thing at least once.
// Before a release `scripts/test.sh --thorough`, which sets MGPU_THOROUGH=1, repeats them with
// other shapes, types, sizes and counts.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace mgpu::testing {

inline bool is_thorough() {
  const char* given = std::getenv("MGPU_THOROUGH");
  return given != nullptr && *given != '\0' && std::string_view(given) != "0";
}

// Marks a test that only the thorough tier has: TEST_CASE("..." * testing::if_thorough()).
inline doctest::skip if_thorough() { return doctest::skip(!is_thorough()); }

// Returns how many devices compute where their number does not matter: one in the quick tier,
// because PoCL compiles a kernel again for each, and all (0) in the thorough one.
inline std::size_t one_when_quick() { return is_thorough() ? 0 : 1; }

// Returns all values in the thorough tier, the first `few` in the quick one.
template <class T>
std::vector<T> first_when_quick(std::size_t few, std::initializer_list<T> all) {
  return {all.begin(), is_thorough()
                           ? all.end()
                           : all.begin() + static_cast<std::ptrdiff_t>(std::min(few, all.size()))};
}

// Counts the combinations of nested loops as they come and returns whether the tier has each: the
// quick one has one in `k`. If `k` is a prime that divides the length of none of the loops, all
// pairs of values of two loops still occur.
inline auto one_in(std::size_t k) {
  return [k, n = std::size_t{0}]() mutable { return n++ % k == 0 || is_thorough(); };
}

}  // namespace mgpu::testing
