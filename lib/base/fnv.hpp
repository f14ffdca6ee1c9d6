// FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/), to name cache files and to detect
// damage, nothing more. Pure.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace mgpu {

class Fnv1a {
 public:
  void add(std::string_view bytes) {
    for (const char c : bytes) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }
  // Returns 16 lower-case hexadecimal digits.
  std::string hex() const {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash_));
    return text;
  }

 private:
  std::uint64_t hash_ = 14695981039346656037u;
};

inline std::string fnv1a_hex(std::string_view bytes) {
  Fnv1a sum;
  sum.add(bytes);
  return sum.hex();
}

}  // namespace mgpu
