// Words of enumerations in files. Internal to lib/report.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>

namespace mgpu::json_names {

// The value whose to_string() is `word`, out of all there are.
template <typename Enum>
std::optional<Enum> from_string(std::string_view word, std::initializer_list<Enum> all) {
  for (const Enum value : all)
    if (std::string_view(to_string(value)) == word) return value;
  return std::nullopt;
}

}  // namespace mgpu::json_names
