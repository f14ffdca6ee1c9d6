// CLI11 has a reader too, which differs between its versions and takes much that is not TOML.
#include "app/config_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/printable.hpp"
#include "lib/base/quote.hpp"

namespace mgpu {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

bool is_bare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

std::string utf8(char32_t c) {
  std::string out;
  const auto more = [&](unsigned shift) { out += static_cast<char>(0x80 | ((c >> shift) & 0x3f)); };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | c >> 6);
    more(0);
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | c >> 12);
    more(6);
    more(0);
  } else {
    out += static_cast<char>(0xf0 | c >> 18);
    more(12);
    more(6);
    more(0);
  }
  return out;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {
    if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);
  }

  std::vector<ConfigEntry> entries() {
    std::vector<ConfigEntry> all;
    std::string section;
    for (;;) {
      blank_lines();
      if (rest_.empty()) return all;
      if (peek() == '[') {
        section = header();
      } else {
        all.push_back(entry(section));
      }
      end_of_line();
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::input, fmt::format("line {}: {}", line_, what));
  }

  // 0 at the end: no text that is understood holds such a character.
  char peek() const { return rest_.empty() ? '\0' : rest_.front(); }
  char take() {
    const char c = peek();
    if (c == '\n') ++line_;
    if (!rest_.empty()) rest_.remove_prefix(1);
    return c;
  }
  bool at_end_of_line() const { return rest_.empty() || peek() == '\n' || peek() == '#'; }

  void spaces() {
    while (is_space(peek())) take();
  }
  void comment() {
    while (!rest_.empty() && peek() != '\n') take();
  }
  void blank_lines() {
    for (spaces(); peek() == '#' || peek() == '\n'; spaces())
      peek() == '#' ? comment() : static_cast<void>(take());
  }
  void end_of_line() {
    spaces();
    if (!at_end_of_line())
      fail(fmt::format("{} is not expected here", in_quotes(rest_.substr(0, rest_.find('\n')))));
    comment();
  }

  std::string header() {
    take();
    if (peek() == '[') fail("lists of tables ([[NAME]]) are not understood; accepted: [run]");
    const std::string name = dotted();
    if (take() != ']') fail("a section is written [NAME]");
    return name;
  }

  std::string dotted() {
    std::string name;
    for (;;) {
      spaces();
      name += key_part();
      spaces();
      if (peek() != '.') return name;
      name += take();
    }
  }

  std::string key_part() {
    if (peek() == '"' || peek() == '\'') return quoted();
    std::string name;
    while (is_bare(peek())) name += take();
    if (name.empty()) fail("a key is expected: KEY = VALUE");
    return name;
  }

  ConfigEntry entry(const std::string& section) {
    ConfigEntry entry;
    entry.line = line_;
    entry.key = dotted();
    entry.section = section;
    if (const std::size_t dot = entry.key.rfind('.'); dot != std::string::npos) {
      entry.section += (section.empty() ? "" : ".") + entry.key.substr(0, dot);
      entry.key.erase(0, dot + 1);
    }
    if (peek() != '=')
      fail(fmt::format("after {} an equals sign is expected: KEY = VALUE", in_quotes(entry.key)));
    take();
    spaces();
    entry.value = peek() == '[' ? list() : scalar(false);
    return entry;
  }

  std::string list() {
    take();
    std::string joined;
    for (bool first = true;; first = false) {
      blank_lines();
      if (peek() == ']') break;
      if (peek() == '[') fail("lists of lists are not understood");
      joined += (first ? "" : ",") + scalar(true);
      blank_lines();
      if (peek() == ',') {
        take();
      } else if (peek() != ']') {
        fail("a list is written [VALUE, VALUE]");
      }
    }
    take();
    return joined;
  }

  std::string scalar(bool in_list) {
    if (peek() == '"' || peek() == '\'') return quoted();
    if (peek() == '{')
      fail(
          "tables ({...}) are not understood; accepted: a string, a number, true, false or a list");
    std::string word;
    while (!at_end_of_line() && !(in_list && (peek() == ',' || peek() == ']'))) word += take();
    while (!word.empty() && is_space(word.back())) word.pop_back();
    if (word.empty()) fail("a value is expected");
    if (word.find_first_of("\"'\0"
                           "[]{}",
                           0, 7) != std::string::npos) {
      fail(fmt::format("{} is not a value; text with such characters is written in quotes",
                       in_quotes(word)));
    }
    return word;
  }

  std::string quoted() {
    const char quote = take();
    if (rest_.substr(0, 2) == std::string(2, quote))
      fail("strings over several lines are not understood");
    std::string text;
    while (peek() != quote) {
      if (rest_.empty() || peek() == '\n') fail("a quote is not closed");
      if (peek() == '\0') fail("a zero byte is in a string");
      const char c = take();
      text += quote == '"' && c == '\\' ? escape() : std::string(1, c);
    }
    take();
    return text;
  }

  std::string escape() {
    static constexpr std::pair<char, char> simple[] = {
        {'b', '\b'}, {'t', '\t'}, {'n', '\n'}, {'f', '\f'}, {'r', '\r'}, {'"', '"'}, {'\\', '\\'}};
    const char kind = rest_.empty() || peek() == '\n' ? '\0' : take();
    for (const auto& [letter, meaning] : simple) {
      if (kind == letter) return std::string(1, meaning);
    }
    if (kind != 'u' && kind != 'U')
      fail(
          "an escape that is not understood; a backslash is written \\\\, or the text in single "
          "quotes");
    char32_t c = 0;
    for (int digits = kind == 'u' ? 4 : 8; digits > 0; --digits) {
      const std::size_t digit =
          std::string_view("0123456789abcdef")
              .find(peek() >= 'A' && peek() <= 'F' ? static_cast<char>(peek() + 32) : peek());
      if (digit == std::string_view::npos)
        fail(fmt::format("\\{} is followed by {} hexadecimal digits", kind, kind == 'u' ? 4 : 8));
      take();
      c = c << 4 | static_cast<char32_t>(digit);
    }
    if (c == 0 || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
      fail("an escape that stands for no character");
    return utf8(c);
  }

  std::string_view rest_;
  std::size_t line_ = 1;
};

}  // namespace

std::vector<ConfigEntry> parse_config(std::string_view text) { return Parser(text).entries(); }

std::string config_string(std::string_view text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = std::max<std::size_t>(utf8_length(text, at), 1);
    const std::string_view one = text.substr(at, length);
    at += length;
    if (one == "\"" || one == "\\") {
      out += '\\';
      out += one;
    } else if (utf8_length(one, 0) > 0 && printable(one) != one) {
      out += fmt::format("\\U{:08x}", static_cast<std::uint32_t>(utf8_code_point(one)));
    } else {
      out += one;
    }
  }
  return out + '"';
}

}  // namespace mgpu
