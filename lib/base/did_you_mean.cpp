// By edit distance: few words are known, and a refusal may take its time.
#include "lib/base/did_you_mean.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "lib/base/quote.hpp"

namespace mgpu {

namespace {

// The fewest letters to put in, take out, change, or swap with the next one (Damerau 1964; no
// letter takes part in two of these).
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
  std::size_t least =
      std::max<std::size_t>(2, name.size() / 3) + 1;  // more mistakes than that make another word
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
