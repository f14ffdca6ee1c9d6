#include "suites/tropical/product_reference.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <vector>

#include "lib/workload/parallel_for.hpp"
#include "suites/common/number_text.hpp"
#include "suites/tropical/weights.hpp"

namespace mgpu::tropical {
namespace {

// Columns and rows that a thread takes at a time: it copies these columns of B to where a cache
// holds them for all the rows.
constexpr std::uint64_t columns_at_once = 32, rows_at_once = 64;

// Computes columns [begin, end) of rows from the definition, skipping missing entries. Describes
// the first difference from the device's result; empty: none.
template <class Number, bool maximum>
std::string first_wrong(const Problem& problem, const ProductMemory& memory,
                        std::span<const std::uint64_t> rows, std::uint64_t begin,
                        std::uint64_t end) {
  const Number none = nothing<Number>(maximum);
  const auto a = as_numbers<Number>(memory.a()), b = as_numbers<Number>(memory.b()),
             c = as_numbers<Number>(memory.c());
  const auto paths = as_numbers<std::int32_t>(memory.paths());
  const std::uint64_t columns = end - begin;
  std::vector<Number> copy(problem.inner * columns_at_once, none);
  for (std::uint64_t k = 0; k < problem.inner; ++k)
    std::copy_n(b.data() + k * problem.columns + begin, columns, copy.data() + k * columns_at_once);
  for (const std::uint64_t row : rows) {
    std::array<Number, columns_at_once> best;
    std::array<std::int32_t, columns_at_once> first;
    best.fill(none);
    first.fill(-1);
    for (std::uint64_t k = 0; k < problem.inner; ++k) {
      const Number x = a[row * problem.inner + k];
      if (x == none) continue;
      const Number* const of_k = copy.data() + k * columns_at_once;
      // Without branches, and of constant length, so that it is compiled to vectors. Any sum is
      // better than `none`.
      for (std::uint64_t j = 0; j < columns_at_once; ++j) {
        const Number y = of_k[j], sum = x + y;
        const bool better = (y != none) & (maximum ? sum > best[j] : sum < best[j]);
        best[j] = better ? sum : best[j];
        first[j] = better ? static_cast<std::int32_t>(k) : first[j];
      }
    }
    for (std::uint64_t j = 0; j < columns; ++j) {
      const std::uint64_t at = row * problem.columns + begin + j;
      const std::string place =
          "[" + std::to_string(row) + "," + std::to_string(begin + j) + "] is ";
      if (c[at] != best[j])
        return "C" + place + number_text(static_cast<double>(c[at])) + ", the reference says " +
               number_text(static_cast<double>(best[j]));
      if (problem.paths && paths[at] != first[j])
        return "the k of C" + place + std::to_string(paths[at]) + ", the reference says " +
               std::to_string(first[j]);
    }
  }
  return "";
}

std::vector<std::uint64_t> rows_to_check(const Problem& problem, bool whole, std::uint64_t seed,
                                         unsigned threads) {
  // Steps of a plain loop that take a thread about a second, and less than half of one.
  const double budget = (whole ? 5e8 : 2e8) * threads;
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
  const std::uint64_t parts = ceil_div(problem.columns, columns_at_once);
  std::vector<std::string> messages(parts * ceil_div(rows.size(), rows_at_once));
  parallel_for(messages.size(), threads, [&](std::uint64_t i) {
    const std::uint64_t begin = i % parts * columns_at_once, first = i / parts * rows_at_once,
                        end = std::min(problem.columns, begin + columns_at_once);
    const auto mine = std::span(rows).subspan(first).first(
        std::min<std::size_t>(rows_at_once, rows.size() - first));
    const auto check = [&](auto number) {
      using Number = decltype(number);
      return problem.maximum ? first_wrong<Number, true>(problem, memory, mine, begin, end)
                             : first_wrong<Number, false>(problem, memory, mine, begin, end);
    };
    messages[i] = problem.integers ? check(std::int32_t{}) : check(float{});
  });
  const auto wrong = std::find_if(messages.begin(), messages.end(),
                                  [](const std::string& message) { return !message.empty(); });
  return {(rows.size() == problem.rows ? std::string("all") : std::to_string(rows.size())) +
              " rows, bit for bit, with a plain loop on the host",
          wrong == messages.end() ? "" : *wrong};
}

}  // namespace mgpu::tropical
