#include "suites/tropical/graph_file.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "lib/workload/npy.hpp"

namespace mgpu::tropical {
namespace {

constexpr std::size_t longest_line = 1000;

// Reads a file line by line and splits lines into words.
class Lines {
 public:
  explicit Lines(const std::filesystem::path& file) : file_(file), in_(file) {
    if (!in_)
      throw Error(ErrorKind::input, "--input: " + file.string() +
                                        ": cannot be read; expected: a .gr, .mtx or .npy file");
  }
  // Reads the words of the next non-empty line; returns false at the end.
  bool next(std::vector<std::string>& words) {
    for (std::string line; std::getline(in_, line);) {
      ++number_;
      if (line.size() > longest_line) refuse("is longer than 1000 characters", "shorter lines");
      std::istringstream text(line);
      words.clear();
      for (std::string word; text >> word;) words.push_back(word);
      if (!words.empty()) return true;
    }
    return false;
  }
  [[noreturn]] void refuse(const std::string& what, const std::string& accepted) const {
    throw Error(ErrorKind::input, "--input: " + file_.string() + ", line " +
                                      std::to_string(number_) + ": " + what +
                                      "; expected: " + accepted);
  }
  [[noreturn]] void refuse_word(const std::string& word, const std::string& accepted) const {
    refuse(in_quotes(word), accepted);
  }

 private:
  std::filesystem::path file_;
  std::ifstream in_;
  std::uint64_t number_ = 0;
};

template <class T>
bool parse(const std::string& word, T& value) {
  // Accepts "+5", as printf writes with %+d, but not "+-5".
  const std::size_t sign = word.size() > 1 && word[0] == '+' && word[1] != '-' ? 1 : 0;
  const auto [end, error] = std::from_chars(word.data() + sign, word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size();
}

struct Format {  // header of a file; the edges follow it
  bool dimacs = false, symmetric = false, skew = false, pattern = false;
  bool array = false;  // a weight of each pair, column by column
  std::uint64_t vertices = 0, edges = 0;
};

Format dimacs_header(Lines& lines) {
  std::vector<std::string> words;
  while (lines.next(words)) {
    if (words[0] == "c") continue;
    Format format;
    format.dimacs = true;
    if (words.size() == 4 && words[0] == "p" && words[1] == "sp" &&
        parse(words[2], format.vertices) && parse(words[3], format.edges))
      return format;
    lines.refuse_word(words[0], "\"p sp VERTICES ARCS\" before the first arc");
  }
  lines.refuse("ends without a problem line", "\"p sp VERTICES ARCS\"");
}

Format matrix_market_header(Lines& lines) {
  std::vector<std::string> words;
  const auto lower = [](std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
  };
  if (!lines.next(words) || words.size() != 5 || lower(words[0]) != "%%matrixmarket" ||
      lower(words[1]) != "matrix")
    lines.refuse("is no Matrix Market header",
                 "\"%%MatrixMarket matrix coordinate|array real|integer|pattern "
                 "general|symmetric|skew-symmetric\"");
  const std::string form = lower(words[2]), field = lower(words[3]), symmetry = lower(words[4]);
  if (form != "coordinate" && form != "array") lines.refuse_word(words[2], "coordinate, array");
  Format format;
  format.array = form == "array";
  format.pattern = field == "pattern" && !format.array;
  format.skew = symmetry == "skew-symmetric" && !format.pattern;
  format.symmetric = symmetry == "symmetric";
  if (field != "real" && field != "integer" && !format.pattern)
    lines.refuse_word(words[3], format.array ? "real, integer" : "real, integer, pattern");
  if (symmetry != "general" && !format.symmetric && !format.skew)
    lines.refuse_word(words[4],
                      format.pattern ? "general, symmetric" : "general, symmetric, skew-symmetric");
  const char* const sizes =
      format.array ? "rows and columns, two counts" : "rows, columns and entries, three counts";
  while (lines.next(words)) {
    if (words[0].starts_with('%')) continue;
    std::uint64_t columns = 0;
    if (words.size() != (format.array ? 2 : 3) || !parse(words[0], format.vertices) ||
        !parse(words[1], columns) || (!format.array && !parse(words[2], format.edges)))
      lines.refuse_word(words[0], sizes);
    if (columns != format.vertices)
      lines.refuse(std::to_string(format.vertices) + " x " + std::to_string(columns),
                   "as many columns as rows");
    return format;
  }
  lines.refuse("ends without its sizes", sizes);
}

bool is_named(const std::filesystem::path& file, const char* end) {
  return file.extension() == end;
}

Format header(const std::filesystem::path& file, Lines& lines) {
  if (is_named(file, ".gr")) return dimacs_header(lines);
  if (is_named(file, ".mtx")) return matrix_market_header(lines);
  throw Error(ErrorKind::input, "--input: " + file.string() +
                                    "; expected with --op apsp: files named .gr, .mtx or .npy");
}

NpyShape square(const std::filesystem::path& file, const Problem& problem) {
  const NpyShape shape =
      read_npy_shape(file, "--input", problem.integers ? NpyNumbers::int32 : NpyNumbers::real);
  if (shape.rows != shape.columns)
    throw Error(ErrorKind::input, "--input: " + file.string() + " is " +
                                      std::to_string(shape.rows) + " x " +
                                      std::to_string(shape.columns) +
                                      "; expected with --op apsp: as many columns as rows");
  if (shape.element != 4)
    throw Error(ErrorKind::input, "--input: " + file.string() +
                                      " holds float64; expected with --precision fp32: float32");
  return shape;
}

template <class Number>
Number weight_of(const std::string& word, const Lines& lines) {
  Number weight{};
  if constexpr (std::is_same_v<Number, float>) {
    if (!parse(word, weight) || !std::isfinite(weight))
      lines.refuse_word(word, "a weight that fp32 holds");
  } else {
    if (!parse(word, weight))
      lines.refuse_word(word, "with --precision int32: a weight that is an integer of 32 bits");
  }
  return weight;
}

// Puts edges into the matrix of weights; the best of several edges counts.
template <class Number>
class Edges {
 public:
  Edges(const Lines& lines, const Format& format, const Problem& problem, std::span<Number> weights)
      : lines_(lines),
        format_(format),
        maximum_(problem.maximum),
        absolute_(problem.absolute),
        weights_(weights) {}

  void add(std::uint64_t from, std::uint64_t to, Number weight) {
    if ((format_.skew || absolute_) && std::is_same_v<Number, std::int32_t> &&
        weight == std::numeric_limits<Number>::min())
      lines_.refuse_word("-2147483648", "a weight whose negative is an integer of 32 bits, too");
    if (absolute_) weight = std::abs(weight);
    put(from, to, weight);
    if (format_.symmetric) put(to, from, weight);
    if (format_.skew) put(to, from, absolute_ ? weight : -weight);
  }

 private:
  void put(std::uint64_t from, std::uint64_t to, Number weight) {
    Number& at = weights_[(from - 1) * format_.vertices + (to - 1)];
    if (maximum_ ? weight > at : weight < at) at = weight;
  }

  const Lines& lines_;
  const Format& format_;
  bool maximum_, absolute_;
  std::span<Number> weights_;
};

// Reads weights column by column: all of them, or those below the diagonal and, if the matrix is
// symmetric, on it. "inf", or "-inf" for the longest paths, is no edge.
template <class Number>
void read_array(Lines& lines, const Format& format, const Problem& problem,
                std::span<Number> weights) {
  const std::uint64_t n = format.vertices;
  const auto first = [&](std::uint64_t column) {
    return format.symmetric ? column : format.skew ? column + 1 : 1;
  };
  Edges<Number> edges(lines, format, problem, weights);
  std::uint64_t column = 1, row = first(1);
  std::vector<std::string> words;
  while (lines.next(words)) {
    if (words[0].starts_with('%')) continue;
    for (const std::string& word : words) {
      while (column <= n && row > n) row = first(++column);
      if (column > n) lines.refuse_word(word, "the end of the file after the last weight");
      const bool none = problem.maximum ? word == "-inf" : word == "inf" || word == "+inf";
      if (!none) edges.add(row, column, weight_of<Number>(word, lines));
      ++row;
    }
  }
  while (column <= n && row > n) row = first(++column);
  if (column <= n)
    lines.refuse("ends before the weight of row " + std::to_string(row) + ", column " +
                     std::to_string(column),
                 "a weight for each");
}

template <class Number>
void read_edges(Lines& lines, const Format& format, const Problem& problem,
                std::span<Number> weights) {
  const std::uint64_t n = format.vertices, begin = format.dimacs ? 1 : 0;
  std::vector<std::string> words;
  Edges<Number> edges(lines, format, problem, weights);
  std::uint64_t count = 0;
  while (lines.next(words)) {
    if (words[0] == (format.dimacs ? "c" : "%") || (!format.dimacs && words[0].starts_with('%')))
      continue;
    if (format.dimacs && words[0] != "a")
      lines.refuse_word(words[0], "\"a FROM TO WEIGHT\", \"c\" with a comment");
    if (words.size() != begin + (format.pattern ? 2 : 3))
      lines.refuse(std::to_string(words.size()) + " words", format.dimacs ? "\"a FROM TO WEIGHT\""
                                                            : format.pattern
                                                                ? "row, column"
                                                                : "row, column, weight");
    std::uint64_t from = 0, to = 0;
    for (auto [word, value] : {std::pair{&words[begin], &from}, {&words[begin + 1], &to}})
      if (!parse(*word, *value) || *value == 0 || *value > n)
        lines.refuse_word(*word, "a vertex from 1 to " + std::to_string(n));
    const Number weight = format.pattern ? Number{1} : weight_of<Number>(words[begin + 2], lines);
    edges.add(from, to, weight);
    ++count;
  }
  if (count != format.edges)
    lines.refuse(
        "edges declared: " + std::to_string(format.edges) + ", found: " + std::to_string(count),
        "as many as are declared");
}

}  // namespace

std::uint64_t vertices_of_file(const std::filesystem::path& file, const Problem& problem) {
  if (is_named(file, ".npy")) return square(file, problem).rows;
  Lines lines(file);
  return header(file, lines).vertices;
}

template <class Number>
void read_graph(const std::filesystem::path& file, const Problem& problem,
                std::span<Number> weights) {
  if (is_named(file, ".npy")) {
    read_npy(file, square(file, problem), std::as_writable_bytes(weights));
    if (!problem.absolute) return;
    // Leaves -inf and the smallest integer, which have meanings of their own.
    for (Number& weight : weights)
      if (weight >= -std::numeric_limits<Number>::max()) weight = std::abs(weight);
    return;
  }
  std::fill(weights.begin(), weights.end(), nothing_in_files<Number>(problem.maximum));
  Lines lines(file);
  const Format format = header(file, lines);
  if (format.vertices * format.vertices != weights.size())
    lines.refuse("the number of vertices has changed", "a file that stays");
  (format.array ? read_array<Number> : read_edges<Number>)(lines, format, problem, weights);
}

template void read_graph<float>(const std::filesystem::path&, const Problem&, std::span<float>);
template void read_graph<std::int32_t>(const std::filesystem::path&, const Problem&,
                                       std::span<std::int32_t>);

}  // namespace mgpu::tropical
