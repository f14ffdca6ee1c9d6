// Quoting of user text for messages.
#include "lib/base/quote.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>
#include <vector>

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

std::string in_words(std::span<const std::string> names) {
  std::string text;
  for (std::size_t k = 0; k < names.size(); ++k)
    text += (k == 0 ? "" : k + 1 < names.size() ? ", " : " and ") + names[k];
  return text;
}

std::string first_few(std::span<const std::string> names) {
  constexpr std::size_t named = 3;  // a fourth name takes no more room than "1 more"
  if (names.size() <= named + 1) return in_words(names);
  std::vector<std::string> few(names.begin(), names.begin() + named);
  few.push_back(std::to_string(names.size() - named) + " more");
  return in_words(few);
}

namespace {

// Returns the fewest letters to insert, delete, change, or swap with the next one (Damerau 1964;
// optimal string alignment: no letter takes part in two of these).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::swap(before, last);
    std::swap(last, row);
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({last[j] + (a[i] == b[j] ? 0 : 1), last[j + 1] + 1, row[j] + 1});
      const bool swapped = i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j];
      if (swapped) row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string did_you_mean(std::string_view name, std::span<const std::string> known) {
  const std::string* nearest = nullptr;
  // With this many mistakes it is a different word.
  constexpr std::size_t kShort = 5;
  std::size_t least = std::max<std::size_t>(name.size() < kShort ? 1 : 2, name.size() / 3) + 1;
  for (const std::string& one : known) {
    if (name.size() > 2 * one.size() + 2) continue;
    const std::size_t mistakes = distance(name, one);
    if (mistakes >= least || mistakes >= name.size()) continue;
    least = mistakes;
    nearest = &one;
  }
  return nearest == nullptr ? "" : "; did you mean " + in_quotes(*nearest) + "?";
}

}  // namespace mgpu
