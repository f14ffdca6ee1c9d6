// Quoting of user text for messages.
#include "lib/base/quote.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace mgpu {

std::string in_quotes(std::string_view text) {
  constexpr std::size_t shown = 48;
  std::string out = "\"";
  for (const char c : text.substr(0, shown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + (text.size() > shown ? "...\"" : "\"");
}

std::string shell_word(const std::string& word) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("-_./=:,^+%@~").find(c) != std::string_view::npos;
  };
  if (!word.empty() && word.front() != '~' && std::all_of(word.begin(), word.end(), plain))
    return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace mgpu
