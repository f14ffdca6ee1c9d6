// The tropical suite on the host: what its references say, what they find, which files and options
// are refused.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "suites/suites.hpp"
#include "suites/tropical/graph_file.hpp"
#include "suites/tropical/paths_workload.hpp"
#include "suites/tropical/weights.hpp"
#include "tests/support/refusal.hpp"

using namespace mgpu;
using namespace mgpu::tropical;

namespace {

SuiteParams params_of(std::uint64_t size, const std::map<std::string, std::string>& given = {}) {
  SuiteParams params;
  params.size = size;
  params.seed = 3;
  params.host_threads = 2;
  for (const SuiteInfo& info : all_suites()) {
    if (info.name != "tropical") continue;
    for (const SuiteOption& option : info.options)
      if (option.kind != SuiteOption::Kind::flag)
        params.options[option.name] = option.values.front();
  }
  for (const auto& [name, value] : given) params.options[name] = value;
  return params;
}

Problem graph_problem(std::uint64_t n, const std::map<std::string, std::string>& more = {}) {
  std::map<std::string, std::string> given{{"op", "apsp"}, {"paths", "yes"}};
  given.insert(more.begin(), more.end());
  return problem_of(params_of(n, given));
}

// Lengths and vertices before the last, as Floyd and Warshall have it.
template <class Number>
struct Plain {
  explicit Plain(const Problem& problem) : n(problem.rows), weights(n * n), before(n * n, -1) {
    fill_graph<Number>(problem, weights, 1);
    const Number none = nothing<Number>(problem.maximum);
    lengths = weights;
    for (std::uint64_t u = 0; u < n; ++u) {
      lengths[u * n + u] = 0;
      for (std::uint64_t v = 0; v < n; ++v)
        if (u != v && lengths[u * n + v] != none) before[u * n + v] = static_cast<std::int32_t>(u);
    }
    for (std::uint64_t k = 0; k < n; ++k) {
      for (std::uint64_t u = 0; u < n; ++u) {
        for (std::uint64_t v = 0; v < n; ++v) {
          const Number first = lengths[u * n + k], second = lengths[k * n + v];
          if (first == none || second == none) continue;
          Number& so_far = lengths[u * n + v];
          if (problem.maximum ? first + second <= so_far : first + second >= so_far) continue;
          so_far = first + second;
          before[u * n + v] = before[k * n + v];
        }
      }
    }
  }
  Lengths<Number> found() const { return {weights, lengths, before}; }
  Finding check(const Problem& problem) const {
    return check_paths(problem, found(), potentials_of<Number>(problem, weights), true, 1, 2);
  }
  std::uint64_t n;
  std::vector<Number> weights, lengths;
  std::vector<std::int32_t> before;
};

struct Scratch {
  explicit Scratch(const char* end)
      : file(std::filesystem::temp_directory_path() /
             ("mgpu-graph-" + std::to_string(::getpid()) + end)) {}
  ~Scratch() { std::filesystem::remove(file); }
  std::filesystem::path file;
};

std::vector<std::int32_t> read_text(const char* end, const std::string& text, std::uint64_t n) {
  const Scratch scratch(end);
  std::ofstream(scratch.file) << text;
  Problem problem = graph_problem(n, {{"precision", "int32"}});
  REQUIRE(vertices_of_file(scratch.file, problem) == n);
  std::vector<std::int32_t> weights(n * n);
  read_graph<std::int32_t>(scratch.file, problem, weights);
  return weights;
}

std::string refusal_of_text(const char* end, const std::string& text) {
  const Scratch scratch(end);
  std::ofstream(scratch.file) << text;
  const Problem problem = graph_problem(3, {{"precision", "int32"}});
  try {
    const std::uint64_t n = vertices_of_file(scratch.file, problem);
    std::vector<std::int32_t> weights(n * n);
    read_graph<std::int32_t>(scratch.file, problem, weights);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE(
    "Dijkstra's lengths and paths are Floyd's, in both semirings, with weights of either sign") {
  for (const char* semiring : {"min-plus", "max-plus"}) {
    for (const char* data : {"integers", "negative"}) {
      for (const char* density : {"1", "0.05"}) {
        const Problem problem =
            graph_problem(60, {{"semiring", semiring}, {"data", data}, {"density", density}});
        const Finding in_fp32 = Plain<float>(problem).check(problem),
                      in_int32 = Plain<std::int32_t>(problem).check(problem);
        CHECK(in_fp32.message == "");
        CHECK(in_int32.message == "");
        CHECK(in_int32.method ==
              "lengths and paths from all vertices, bit for bit, with Dijkstra's on the host");
      }
    }
  }
  const Problem uniform = graph_problem(60, {{"data", "uniform"}});
  const Finding finding = Plain<float>(uniform).check(uniform);
  CHECK(finding.message == "");
  CHECK(test::has(finding.method, "within roundings"));
}

TEST_CASE(
    "a length that is one off, a path that does not lead there and one in a circle are found") {
  const Problem problem = graph_problem(40, {{"density", "0.2"}});
  const Plain<std::int32_t> right(problem);
  Plain<std::int32_t> wrong = right;
  wrong.lengths[7 * 40 + 9] -= 1;
  CHECK(test::has(wrong.check(problem).message, "the length from 7 to 9 is"));
  wrong = right;
  wrong.before[7 * 40 + 9] = 9;
  CHECK(test::has(wrong.check(problem).message,
                  "on the path from 7 to 9 vertex 9 cannot be the last but one"));
  wrong = right;
  wrong.before[7 * 40 + 9] = -1;
  CHECK(test::has(wrong.check(problem).message, "on the path from 7 to 9 vertex -1"));
}

TEST_CASE("two vertices that hang on each other by edges of no length are a circle, not a path") {
  const Problem problem = graph_problem(3);
  const float none = nothing<float>(false);
  const std::vector<float> weights{none, 1, 1, none, none, 0, none, 0, none},
      lengths{0, 1, 1, none, 0, 0, none, 0, 0};
  std::vector<std::int32_t> before{-1, 0, 0, -1, -1, 1, -1, 2, -1};
  const auto check = [&] {
    return check_paths(problem, Lengths<float>{weights, lengths, before}, std::vector<double>(3, 0),
                       true, 1, 1)
        .message;
  };
  CHECK(check() == "");
  before[1] = 2;
  before[2] = 1;
  CHECK(test::has(check(), "goes round in a circle"));
}

TEST_CASE("a cycle that gains is named, one of length 0 is not refused, in both semirings") {
  for (const bool maximum : {false, true}) {
    const Problem problem = graph_problem(4, {{"semiring", maximum ? "max-plus" : "min-plus"}});
    const int sign = maximum ? -1 : 1;
    std::vector<std::int32_t> weights(16, nothing<std::int32_t>(maximum));
    weights[0 * 4 + 1] = 5 * sign;
    weights[1 * 4 + 2] = 2 * sign;
    weights[2 * 4 + 3] = -4 * sign;
    weights[3 * 4 + 1] = 2 * sign;
    CHECK_NOTHROW(potentials_of<std::int32_t>(problem, weights));
    weights[3 * 4 + 1] = 1 * sign;
    try {
      potentials_of<std::int32_t>(problem, weights);
      FAIL("it was not refused");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::input);
      CHECK(test::has(error.what(), maximum ? "has length 1, so that paths get longer"
                                            : "has length -1, so that paths get shorter"));
      CHECK((test::has(error.what(), "1 -> 2 -> 3 -> 1") ||
             test::has(error.what(), "2 -> 3 -> 1 -> 2") ||
             test::has(error.what(), "3 -> 1 -> 2 -> 3")));
    }
    weights[3 * 4 + 1] = 2 * sign;
    weights[2 * 4 + 2] = -1 * sign;
    CHECK_THROWS_AS(potentials_of<std::int32_t>(problem, weights), Error);  // a vertex alone
  }
}

TEST_CASE(
    "graphs are read from DIMACS and Matrix Market files, the best of several edges and both ways "
    "of a symmetric one") {
  constexpr std::int32_t none = 2147483647;
  CHECK(read_text(".gr", "c a comment\np sp 3 3\na 1 2 7\na 1 2 -4\na 3 1 9\n", 3) ==
        std::vector<std::int32_t>{none, -4, none, none, none, none, 9, none, none});
  CHECK(read_text(
            ".mtx",
            "%%MatrixMarket matrix coordinate integer symmetric\n% comment\n3 3 2\n2 1 5\n3 2 6\n",
            3) == std::vector<std::int32_t>{none, 5, none, 5, none, 6, none, 6, none});
  CHECK(read_text(".mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n2 1\n", 2) ==
        std::vector<std::int32_t>{none, none, 1, none});
}

TEST_CASE("what a graph file does not clearly say is refused with its line") {
  const std::string mtx = "%%MatrixMarket matrix coordinate ";
  for (const auto& [end, text, words] : std::vector<std::array<std::string, 3>>{
           {".gr", "", "ends without a problem line"},
           {".gr", "a 1 2 3\n", "before the first arc"},
           {".gr", "p sp 3\n", "\"p sp VERTICES ARCS\""},
           {".gr", "p sp 3 1\na 1 4 2\n", "line 2: \"4\"; accepted: a vertex from 1 to 3"},
           {".gr", "p sp 3 1\na 0 1 2\n", "\"0\""},
           {".gr", "p sp 3 1\na 1 2 1.5\n", "an integer of 32 bits"},
           {".gr", "p sp 3 2\na 1 2 1\n", "ends after 1 of 2 edges"},
           {".gr", "p sp 3 1\nb 1 2 1\n", "\"a FROM TO WEIGHT\""},
           {".gr", "p sp 3 1\na 1 2\n", "3 words"},
           {".mtx", "3 3 1\n", "no Matrix Market header"},
           {".mtx", "%%MatrixMarket matrix array real general\n",
            "\"array\"; accepted: coordinate"},
           {".mtx", mtx + "complex general\n3 3 0\n", "\"complex\""},
           {".mtx", mtx + "real hermitian\n3 3 0\n", "\"hermitian\""},
           {".mtx", mtx + "real general\n3 4 0\n", "as many columns as rows"},
           {".mtx", mtx + "integer general\n3 3 1\n1 2 x\n", "\"x\""},
           {".txt", "1\n", "files named .gr, .mtx or .npy"}}) {
    CAPTURE(text);
    CHECK(test::has(refusal_of_text(end.c_str(), text), words));
  }
}

TEST_CASE("options that do not go together are refused, and sizes beyond what is numbered") {
  const auto why = [](std::uint64_t size, const std::map<std::string, std::string>& given) {
    return test::refusal([&] { problem_of(params_of(size, given)); });
  };
  CHECK(test::has(why(8, {{"op", "apsp"}, {"axis", "tiles"}}),
                  "--axis: \"tiles\"; accepted: with --op apsp: rows"));
  CHECK(test::has(why(8, {{"op", "apsp"}, {"cols", "9"}}), "--cols: \"9\""));
  CHECK(test::has(why(0, {{"op", "apsp"}}), "1 to 65536"));
  CHECK(test::has(why(65537, {{"op", "apsp"}}), "1 to 65536"));
  CHECK(test::has(why(8, {{"route", "1:2"}}), "--route: \"1:2\"; accepted: with --op apsp"));
  CHECK(test::has(why(8, {{"op", "apsp"}, {"route", "1-2"}}), "FROM:TO"));
  CHECK(test::has(why(8, {{"precision", "int32"}, {"data", "uniform"}}), "--data: \"uniform\""));
  CHECK(test::has(why(8, {{"kernel", "fast"}}),
                  "--kernel: \"fast\"; accepted: auto, portable, or a variant"));
  CHECK(test::has(why(8, {{"density", "0"}}), "--density: \"0\"; accepted: above 0"));
  CHECK(test::has(why(8, {{"density", "1.5"}}), "--density"));
  CHECK(test::has(why((1 << 21) + 1, {}), "0 to 2097152"));
  CHECK(test::refusal([] {
          check_route(graph_problem(8, {{"route", "1:8"}}));
        }) == "--route: \"1:8\"; accepted: vertices from 0 to 7");
}
