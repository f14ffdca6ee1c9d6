#include "lib/base/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace mgpu {
namespace {

unsigned char byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7f && c < 0xa0); }

// Tells whether a character is invisible and changes how others are read. Joiners do not count:
// scripts and emoji need them.
bool is_deceptive(char32_t c) {
  struct Range {
    char32_t first, last;
  };
  static constexpr Range ranges[] = {{0x061c, 0x061c}, {0x200b, 0x200b},  {0x200e, 0x200f},
                                     {0x2028, 0x202e}, {0x2060, 0x206f},  {0xfeff, 0xfeff},
                                     {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [&](const Range& r) { return c >= r.first && c <= r.last; });
}

// Returns the length of the colour escape sequence that begins at `at`; 0 if none does.
std::size_t color_length(std::string_view text, std::size_t at) {
  if (text.substr(at, 2) != "\x1b[") return 0;
  const std::size_t end = text.find_first_not_of("0123456789;", at + 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 - at : 0;
}

enum class Lines { one, indented, kept };

std::string escaped(std::string_view text, Lines lines, bool colored) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\n' && lines != Lines::one) {
      out += lines == Lines::indented ? "\n  " : "\n";
      ++at;
      continue;
    }
    if (const std::size_t length = colored ? color_length(text, at) : 0; length > 0) {
      out += text.substr(at, length);
      at += length;
      continue;
    }
    const std::size_t length = utf8_length(text, at);
    const char32_t c = length > 0 ? utf8_code_point(text.substr(at, length)) : byte_at(text, at);
    if (length == 0 || is_control(c)) {
      for (std::size_t k = 0; k < std::max<std::size_t>(length, 1); ++k)
        out += fmt::format("\\x{:02x}", byte_at(text, at + k));
    } else if (is_deceptive(c)) {
      out += fmt::format("\\u{{{:x}}}", static_cast<std::uint32_t>(c));
    } else {
      out += text.substr(at, length);
    }
    at += std::max<std::size_t>(length, 1);
  }
  return out;
}

}  // namespace

std::size_t utf8_length(std::string_view text, std::size_t at) {
  const unsigned char first = byte_at(text, at);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xc2 && first < 0xe0   ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte_at(text, at + k) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and values beyond the last code point are invalid.
  const unsigned char second = byte_at(text, at + 1);
  const bool wrong = (first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
                     (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90);
  return wrong ? 0 : length;
}

char32_t utf8_code_point(std::string_view sequence) {
  // Bits of the first byte that belong to the code point, by length.
  constexpr std::array<unsigned, 5> kept = {0, 0x7f, 0x1f, 0x0f, 0x07};
  char32_t value = byte_at(sequence, 0) & kept[sequence.size()];
  for (std::size_t k = 1; k < sequence.size(); ++k)
    value = value << 6 | (byte_at(sequence, k) & 0x3f);
  return value;
}

std::string printable(std::string_view text) { return escaped(text, Lines::one, false); }

std::string printable_lines(std::string_view text) { return escaped(text, Lines::indented, false); }

std::string printable_text(std::string_view text) { return escaped(text, Lines::kept, false); }

std::string printable_colored(std::string_view text) { return escaped(text, Lines::kept, true); }

std::string printable_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t at = 0; at < json.size();) {
    const std::size_t length = utf8_length(json, at);
    const char32_t c = length > 0 ? utf8_code_point(json.substr(at, length)) : 0;
    // Below 0x7f the only control characters of valid JSON are its own line ends.
    if (c >= 0x7f && (is_control(c) || is_deceptive(c))) {
      if (c > 0xffff) {
        const auto rest = static_cast<std::uint32_t>(c - 0x10000);
        out += fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + (rest >> 10), 0xdc00 + (rest & 0x3ff));
      } else {
        out += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(c));
      }
    } else {
      out += json.substr(at, std::max<std::size_t>(length, 1));
    }
    at += std::max<std::size_t>(length, 1);
  }
  return out;
}

std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

}  // namespace mgpu
