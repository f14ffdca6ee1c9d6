// Reads with toml++: CLI11's own reader differs between its versions and accepts much that is not
// TOML.
#include "app/config_file.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/base/printable.hpp"
#include "lib/base/quote.hpp"

namespace mgpu {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {
    if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);
    for (std::size_t end = 0; end != std::string_view::npos;) {
      end = rest_.find('\n');
      lines_.push_back(rest_.substr(0, end));
      rest_.remove_prefix(std::min(rest_.size(), end + (end != std::string_view::npos)));
    }
  }

  std::vector<ConfigEntry> entries(std::string_view text) {
    try {
      read(toml::parse(text), "");
    } catch (const toml::parse_error& error) {
      refuse(error.source(), printable(error.description()));
    }
    // toml++ sorts keys by name; this restores the order of the file.
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const ConfigEntry& a, const ConfigEntry& b) { return a.line < b.line; });
    return std::move(entries_);
  }

 private:
  [[noreturn]] void refuse(const toml::source_region& place, const std::string& why) const {
    const std::size_t line = place.begin.line;
    throw Error(ErrorKind::input,
                fmt::format("line {}: {}: {}; expected: KEY = \"TEXT\", a number, true, false or "
                            "[VALUE, ..]",
                            line, in_quotes(line > lines_.size() ? "" : lines_[line - 1]), why));
  }

  void read(const toml::table& table, const std::string& section) {
    for (const auto& [key, value] : table) {
      const std::string name(key.str());
      const toml::table* inner = value.as_table();
      if (inner != nullptr && !inner->is_inline()) {
        read(*inner, section.empty() ? name : section + "." + name);
      } else {
        entries_.push_back({section, name, value_of(value), key.source().begin.line});
      }
    }
  }

  std::string value_of(const toml::node& value) const {
    const toml::array* list = value.as_array();
    if (list == nullptr) return scalar(value);
    std::string joined;
    for (const toml::node& one : *list) joined += "," + scalar(one);
    return joined.empty() ? "" : joined.substr(1);
  }

  std::string scalar(const toml::node& value) const {
    if (value.is_table() || value.is_array()) refuse(value.source(), "tables and lists in lists");
    const auto* text = value.as_string();
    if (text == nullptr) return as_written(value.source());
    if (text->get().find('\0') != std::string::npos) refuse(value.source(), "a zero byte");
    return text->get();
  }

  // Returns a number, date or truth value as it is written in the file. toml++ counts columns in
  // characters: these values have one byte per character, but the text before them may have more.
  std::string as_written(const toml::source_region& place) const {
    const std::string_view line = lines_[place.begin.line - 1];
    std::size_t at = 0;
    for (std::size_t column = 1; column < place.begin.column; ++column)
      at += std::max<std::size_t>(utf8_length(line, at), 1);
    return std::string(line.substr(at, place.end.column - place.begin.column));
  }

  std::string_view rest_;
  std::vector<std::string_view> lines_;
  std::vector<ConfigEntry> entries_;
};

}  // namespace

std::vector<ConfigEntry> parse_config(std::string_view text) { return Reader(text).entries(text); }

std::string config_string(std::string_view text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = std::max<std::size_t>(utf8_length(text, at), 1);
    const std::string_view one = text.substr(at, length);
    at += length;
    if (one == "\"" || one == "\\") {
      out += '\\';
      out += one;
    } else if (utf8_length(one, 0) == 0) {
      throw Error(ErrorKind::usage, in_quotes(text) + " is no UTF-8, as TOML has to be");
    } else if (printable(one) != one) {
      out += fmt::format("\\U{:08x}", static_cast<std::uint32_t>(utf8_code_point(one)));
    } else {
      out += one;
    }
  }
  return out + '"';
}

}  // namespace mgpu
