// FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/): names cache files and finds damage, nothing more. Pure.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace mgpu {

// 16 lower-case hex digits.
inline std::string fnv1a_hex(std::string_view bytes) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

}  // namespace mgpu
