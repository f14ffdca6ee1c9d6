// Quoting of user text for messages.
#include "lib/base/quote.hpp"

#include <fmt/format.h>

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

}  // namespace mgpu
