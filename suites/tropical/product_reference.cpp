#include "suites/tropical/product_reference.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "lib/workload/parallel_for.hpp"
#include "suites/common/number_text.hpp"
#include "suites/tropical/weights.hpp"

namespace mgpu::tropical {
namespace {

// Computes a part of a row from the definition; missing entries are skipped.
template <class Number>
class PlainRow {
 public:
  // Columns of a part: all threads compute parts with the same columns of B, which a cache holds.
  static constexpr std::uint64_t most = 128;

  PlainRow(const Problem& problem, const ProductMemory& memory, std::uint64_t row,
           std::uint64_t column)
      : problem_(problem), memory_(memory), row_(row), column_(column) {
    const Number none = nothing<Number>(problem.maximum);
    const auto a = as_numbers<Number>(memory.a()), b = as_numbers<Number>(memory.b());
    const std::uint64_t columns = std::min(most, problem.columns - column);
    best_.assign(columns, none);
    first_.assign(columns, -1);
    for (std::uint64_t k = 0; k < problem.inner; ++k) {
      const Number x = a[row * problem.inner + k];
      if (x == none) continue;
      const Number* const of_k = b.data() + k * problem.columns + column;
      for (std::uint64_t j = 0; j < columns; ++j) {
        if (of_k[j] == none) continue;
        const Number sum = x + of_k[j];
        if (first_[j] >= 0 && (problem.maximum ? sum <= best_[j] : sum >= best_[j])) continue;
        best_[j] = sum;
        first_[j] = static_cast<std::int64_t>(k);
      }
    }
  }

  // Describes the first difference from the device's result; empty: none.
  std::string what_is_wrong() const {
    const auto c = as_numbers<Number>(memory_.c());
    const auto paths = as_numbers<std::int32_t>(memory_.paths());
    for (std::uint64_t j = 0; j < best_.size(); ++j) {
      const std::uint64_t at = row_ * problem_.columns + column_ + j;
      const std::string place =
          "[" + std::to_string(row_) + "," + std::to_string(column_ + j) + "] is ";
      if (c[at] != best_[j])
        return "C" + place + number_text(static_cast<double>(c[at])) + ", the reference says " +
               number_text(static_cast<double>(best_[j]));
      if (problem_.paths && paths[at] != first_[j])
        return "the k of C" + place + std::to_string(paths[at]) + ", the reference says " +
               std::to_string(first_[j]);
    }
    return "";
  }

 private:
  const Problem& problem_;
  const ProductMemory& memory_;
  std::uint64_t row_, column_;
  std::vector<Number> best_;
  std::vector<std::int64_t> first_;
};

std::vector<std::uint64_t> rows_to_check(const Problem& problem, bool whole, std::uint64_t seed,
                                         unsigned threads) {
  // Steps of a plain loop that take a thread about a second, and half a second.
  const double budget = (whole ? 6e8 : 3e8) * threads;
  const double each = static_cast<double>(problem.columns) *
                      static_cast<double>(std::max<std::uint64_t>(problem.inner, 1));
  std::vector<std::uint64_t> rows(problem.rows);
  std::iota(rows.begin(), rows.end(), 0);
  if (each * static_cast<double>(problem.rows) <= budget) return rows;
  std::mt19937_64 random(seed);
  rows = {0, problem.rows - 1};
  while (static_cast<double>(rows.size()) * each < budget) rows.push_back(random() % problem.rows);
  return rows;
}

}  // namespace

Finding check_product(const Problem& problem, const ProductMemory& memory, bool whole,
                      std::uint64_t seed, unsigned threads) {
  if (problem.rows == 0 || problem.columns == 0) return {"C is empty", ""};
  const std::vector<std::uint64_t> rows = rows_to_check(problem, whole, seed, threads);
  constexpr std::uint64_t most = PlainRow<float>::most;
  std::vector<std::string> messages(rows.size() * ceil_div(problem.columns, most));
  parallel_for(messages.size(), threads, [&](std::uint64_t i) {
    const std::uint64_t row = rows[i % rows.size()], column = i / rows.size() * most;
    messages[i] = problem.integers
                      ? PlainRow<std::int32_t>(problem, memory, row, column).what_is_wrong()
                      : PlainRow<float>(problem, memory, row, column).what_is_wrong();
  });
  const auto wrong = std::find_if(messages.begin(), messages.end(),
                                  [](const std::string& message) { return !message.empty(); });
  return {(rows.size() == problem.rows ? std::string("all") : std::to_string(rows.size())) +
              " rows, bit for bit, with a plain loop on the host",
          wrong == messages.end() ? "" : *wrong};
}

}  // namespace mgpu::tropical
