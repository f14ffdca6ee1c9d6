#pragma once

#include <cstddef>

namespace mgpu::test {

// Under a sanitizer, which makes everything five to fifty times as slow, tests that repeat
// themselves take one in so many of their cases: what it looks for is in each of them. Without one
// they take all.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

constexpr std::size_t one_in(std::size_t n) { return kSanitized ? n : 1; }

}  // namespace mgpu::test
