#pragma once

#include <cstddef>

namespace mgpu::test {

// True under a sanitizer, which makes everything five to fifty times slower. Tests that repeat
// themselves then run one in N of their cases, because each case contains what a sanitizer looks
// for. Without a sanitizer they run all.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

constexpr std::size_t one_in(std::size_t n) { return kSanitized ? n : 1; }

}  // namespace mgpu::test
