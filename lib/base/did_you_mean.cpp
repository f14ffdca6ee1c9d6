// By edit distance: few words are known, and a refusal may take its time.
#include "lib/base/did_you_mean.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "lib/base/quote.hpp"

namespace mgpu {

namespace {

// The fewest letters to put in, take out, or change (Levenshtein 1966).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string did_you_mean(std::string_view name, std::span<const std::string> known) {
  const std::string* nearest = nullptr;
  std::size_t least = std::max<std::size_t>(2, name.size() / 3) + 1;  // more mistakes than that make another word
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
