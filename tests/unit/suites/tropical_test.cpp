// The tropical suite on the host: its references, the files and options that are refused, and the
// order in which devices send each other panels of shortest paths.
#include <doctest/doctest.h>
#include <unistd.h>

#include <deque>
#include <filesystem>
#include <fstream>
#include <random>

#include "suites/tropical/graph_file.hpp"
#include "suites/tropical/panel_order.hpp"
#include "suites/tropical/paths_workload.hpp"
#include "suites/tropical/weights.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/suite_params.hpp"
#include "tests/support/thorough.hpp"

namespace mgpu::tropical {
namespace {

using namespace mgpu::test;

SuiteParams params_with(std::uint64_t size, const Options& given = {}) {
  return suite_params("tropical", size, given, 3);
}

Problem graph_problem(std::uint64_t n, Options given = {}) {
  given.insert({{"op", "apsp"}, {"paths", "yes"}});
  return problem_of(params_with(n, given));
}

// Lengths and predecessors by the Floyd-Warshall algorithm.
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

// Returns the graph of a file with this text and extension.
std::vector<std::int32_t> read_text(const std::string& end, const std::string& text,
                                    std::uint64_t n, bool absolute = false) {
  const auto file =
      std::filesystem::temp_directory_path() / ("mgpu-graph-" + std::to_string(::getpid()) + end);
  std::ofstream(file) << text;
  const struct Removed {
    ~Removed() { std::filesystem::remove(path); }
    std::filesystem::path path;
  } removed{file};
  Problem problem = graph_problem(n, {{"precision", "int32"}});
  problem.absolute = absolute;
  REQUIRE(vertices_of_file(file, problem) == n);
  std::vector<std::int32_t> weights(n * n);
  read_graph<std::int32_t>(file, problem, weights);
  return weights;
}

}  // namespace

TEST_CASE("tropical: Dijkstra's lengths and paths are Floyd's, in both semirings") {
  for (const char* semiring : {"min-plus", "max-plus"}) {
    for (const char* data : {"integers", "negative"}) {
      for (const char* density : {"1", "0.05"}) {
        const Problem problem =
            graph_problem(60, {{"semiring", semiring}, {"data", data}, {"density", density}});
        const Finding in_fp32 = Plain<float>(problem).check(problem),
                      in_int32 = Plain<std::int32_t>(problem).check(problem);
        CHECK((in_fp32.message == "" && in_int32.message == ""));
        CHECK(has(in_int32.method, "bit for bit"));
      }
    }
  }
  const Problem uniform = graph_problem(60, {{"data", "uniform"}});
  const Finding finding = Plain<float>(uniform).check(uniform);
  CHECK(finding.message == "");
  CHECK(has(finding.method, "within roundings"));
}

TEST_CASE("tropical: a length that is off, a path that leads elsewhere or in a circle are found") {
  const Problem problem = graph_problem(40, {{"density", "0.2"}});
  const Plain<std::int32_t> right(problem);
  Plain<std::int32_t> wrong = right;
  wrong.lengths[7 * 40 + 9] -= 1;
  CHECK(has(wrong.check(problem).message, "length from 7 to 9"));
  wrong = right;
  wrong.before[7 * 40 + 9] = 9;
  CHECK(has(wrong.check(problem).message, "path from 7 to 9"));
  wrong = right;
  wrong.before[7 * 40 + 9] = -1;
  CHECK(has(wrong.check(problem).message, "vertex -1"));
}

TEST_CASE("tropical: two vertices that hang on each other by edges of length 0 are a circle") {
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
  CHECK(has(check(), "goes round in a circle"));
}

TEST_CASE("tropical: a cycle that gains is named, one of length 0 is not refused") {
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
    const std::string what =
        refusal([&] { potentials_of<std::int32_t>(problem, weights); }, ErrorKind::input);
    CHECK(has(what, maximum ? "length 1" : "length -1"));
    CHECK((has(what, "1 -> 2 -> 3") || has(what, "2 -> 3 -> 1") || has(what, "3 -> 1 -> 2")));
    weights[3 * 4 + 1] = 2 * sign;
    weights[2 * 4 + 2] = -1 * sign;
    CHECK_THROWS_AS(potentials_of<std::int32_t>(problem, weights), Error);  // a loop at one vertex
  }
}

TEST_CASE("tropical: graphs are read from DIMACS and Matrix Market files, best of several edges") {
  constexpr std::int32_t none = 2147483647;
  CHECK(read_text(".gr", "c a comment\np sp 3 3\na 1 2 +7\na 1 2 -4\na 3 1 9\n", 3) ==
        std::vector<std::int32_t>{none, -4, none, none, none, none, 9, none, none});
  CHECK(read_text(
            ".mtx",
            "%%MatrixMarket matrix coordinate integer symmetric\n% comment\n3 3 2\n2 1 5\n3 2 6\n",
            3) == std::vector<std::int32_t>{none, 5, none, 5, none, 6, none, 6, none});
  CHECK(read_text(".mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n2 1\n", 2) ==
        std::vector<std::int32_t>{none, none, 1, none});
  CHECK(read_text(".mtx",
                  "%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 -5\n", 2,
                  true) == std::vector<std::int32_t>{none, 5, 5, none});
  CHECK(read_text(".gr", "p sp 2 3\na 1 2 -7\na 1 2 6\na 2 1 -3\n", 2, true) ==
        std::vector<std::int32_t>{none, 6, 3, none});
  CHECK(read_text(".mtx", "%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 5\n",
                  2) == std::vector<std::int32_t>{none, -5, 5, none});
  const std::string array = "%%MatrixMarket matrix array integer ";
  CHECK(read_text(".mtx", array + "general\n% by columns\n2 2\n1\n2\ninf\n4\n", 2) ==
        std::vector<std::int32_t>{1, none, 2, 4});
  CHECK(read_text(".mtx", array + "symmetric\n3 3\n1 2 3\n4 5\n6\n", 3) ==
        std::vector<std::int32_t>{1, 2, 3, 2, 4, 5, 3, 5, 6});
  CHECK(read_text(".mtx", array + "skew-symmetric\n3 3\n2\n3\n5\n", 3) ==
        std::vector<std::int32_t>{none, -2, -3, 2, none, -5, 3, 5, none});
}

TEST_CASE("tropical: what a graph file does not clearly say is refused with its line") {
  const std::string mtx = "%%MatrixMarket matrix coordinate ";
  for (const auto& [end, text, words] : std::vector<std::array<std::string, 3>>{
           {".gr", "", "problem line"},
           {".gr", "a 1 2 3\n", "first arc"},
           {".gr", "p sp 3\n", "\"p sp VERTICES ARCS\""},
           {".gr", "p sp 3 1\na 1 4 2\n", "line 2: \"4\""},
           {".gr", "p sp 3 1\na 0 1 2\n", "\"0\""},
           {".gr", "p sp 3 1\na 1 2 1.5\n", "1.5"},
           {".gr", "p sp 3 1\na 1 2 +-5\n", "+-5"},
           {".gr", "p sp 3 2\na 1 2 1\n", "2, found: 1"},
           {".gr", "p sp 3 1\nb 1 2 1\n", "\"a FROM TO WEIGHT\""},
           {".gr", "p sp 3 1\na 1 2\n", "3 words"},
           {".mtx", "3 3 1\n", "header"},
           {".mtx", "%%MatrixMarket matrix sparse real general\n", "\"sparse\""},
           {".mtx", "%%MatrixMarket matrix array pattern general\n3 3\n", "\"pattern\""},
           {".mtx", "%%MatrixMarket matrix array real general\n3 3 9\n", "two counts"},
           {".mtx", "%%MatrixMarket matrix array integer symmetric\n3 3\n1 2 3 4 5\n",
            "row 3, column 3"},
           {".mtx", "%%MatrixMarket matrix array integer symmetric\n3 3\n1 2 3 4 5 6 7\n", "\"7\""},
           {".mtx", mtx + "pattern skew-symmetric\n3 3 0\n", "\"skew-symmetric\""},
           {".mtx", mtx + "integer skew-symmetric\n3 3 1\n2 1 -2147483648\n", "negative"},
           {".mtx", mtx + "complex general\n3 3 0\n", "\"complex\""},
           {".mtx", mtx + "real hermitian\n3 3 0\n", "\"hermitian\""},
           {".mtx", mtx + "real general\n3 4 0\n", "columns"},
           {".mtx", mtx + "integer general\n3 3 1\n1 2 x\n", "\"x\""},
           {".txt", "1\n", ".gr, .mtx"}}) {
    const auto& this_end = end;
    const auto& this_text = text;
    INFO(this_end, ": ", this_text);
    const std::string what = refusal([&] { read_text(this_end, this_text, 3); }, ErrorKind::input);
    CHECK((has(what, words) && !has(what, "\n")));
  }
}

TEST_CASE("tropical: options that do not go together, and sizes beyond limits, are refused") {
  struct Refused {
    std::uint64_t size;
    Options options;
    const char* fact;
  };
  for (const Refused& refused :
       {Refused{8, {{"op", "apsp"}, {"axis", "tiles"}}, "--axis: \"tiles\""},
        {8, {{"op", "apsp"}, {"cols", "9"}}, "--cols: \"9\""},
        {0, {{"op", "apsp"}}, "1 to 65536"},
        {65537, {{"op", "apsp"}}, "1 to 65536"},
        {8, {{"route", "1:2"}}, "--route: \"1:2\""},
        {8, {{"op", "apsp"}, {"route", "1-2"}}, "--route"},
        {8, {{"precision", "int32"}, {"data", "uniform"}}, "--data: \"uniform\""},
        {8, {{"kernel", "fast"}}, "--kernel: \"fast\""},
        {8, {{"density", "0"}}, "--density: \"0\""},
        {8, {{"density", "1.5"}}, "--density"},
        {(1 << 21) + 1, {}, "0 to 2097152"}})
    CHECK(has(refusal([&] { problem_of(params_with(refused.size, refused.options)); }),
              refused.fact));
  const auto beyond = [] { check_route(graph_problem(8, {{"route", "1:8"}})); };
  CHECK(has(refusal(beyond), "0 to 7"));
}

namespace {

std::vector<Owner> owners_of(Items items, const std::vector<Items>& ends) {
  std::vector<Owner> owners;
  Items begin = 0;
  for (std::uint32_t i = 0; i < ends.size(); ++i) {
    const Items end = i + 1 == ends.size() ? items : ends[i];
    if (end > begin) owners.push_back({{i}, {begin, end}});
    begin = std::max(begin, end);
  }
  return owners;
}

// A step of a device; steps are in order. The words of a signal show whether it is the one that the
// wait was meant for.
struct PanelStep {
  enum class Kind { signal, wait, begin_read, end_read, put } kind;
  DeviceIndex other{};
  std::uint32_t block = 0;
  std::string words{};
};

// Returns the steps as PathsProgram takes them.
std::deque<PanelStep> steps_of(const Blocks& blocks, const std::vector<Owner>& owners,
                               DeviceIndex self) {
  using Kind = PanelStep::Kind;
  const PanelOrder order(blocks, owners, self);
  const auto count = static_cast<std::uint32_t>(blocks.count());
  std::deque<PanelStep> steps;
  const auto put = [&](std::uint32_t block) {
    for (const DeviceIndex other : order.others()) steps.push_back({Kind::put, other, block});
  };
  const auto there = [](std::uint32_t block) {
    return "panel " + std::to_string(block) + " is there";
  };
  const auto free = [](std::uint32_t block) {
    return "panel " + std::to_string(block) + " was read";
  };
  if (order.owns(0)) put(0);
  const PanelOrder::Signals first = order.before_first_round();
  for (const DeviceIndex to : first.give) steps.push_back({Kind::signal, to, 0, there(0)});
  CHECK(first.await_readers.empty());
  if (first.await_panel) steps.push_back({Kind::wait, *first.await_panel, 0, there(0)});
  for (std::uint32_t round = 0; round < count; ++round) {
    steps.push_back({Kind::begin_read, {}, round});
    if (round + 1 < count && order.owns(round + 1)) {
      put(round + 1);
      for (const DeviceIndex to : order.others())
        steps.push_back({Kind::signal, to, 0, there(round + 1)});
    }
    steps.push_back({Kind::end_read, {}, round});
    const PanelOrder::Signals after = order.after_round(round);
    for (const DeviceIndex to : after.give) steps.push_back({Kind::signal, to, 0, free(round)});
    for (const DeviceIndex from : after.await_readers)
      steps.push_back({Kind::wait, from, 0, free(round - 1)});
    if (after.await_panel) steps.push_back({Kind::wait, *after.await_panel, 0, there(round + 1)});
  }
  return steps;
}

// Runs the devices in a random order, some of them more often than others, and checks that none is
// ever stuck, reads a panel that is not there, or has a panel overwritten while it reads it.
void run_all(const Blocks& blocks, const std::vector<Owner>& owners, std::size_t devices,
             std::mt19937_64& random) {
  std::vector<std::deque<PanelStep>> steps(devices);
  for (const Owner& owner : owners)
    steps[owner.device.value] = steps_of(blocks, owners, owner.device);
  std::vector<std::vector<std::deque<std::string>>> signals(
      devices, std::vector<std::deque<std::string>>(devices));
  std::vector<std::vector<std::uint32_t>> panels(devices,
                                                 std::vector<std::uint32_t>(panels_at_once, ~0u));
  std::vector<std::optional<std::uint32_t>> reading(devices);
  std::vector<double> eager(devices);
  for (double& each : eager) each = std::uniform_real_distribution(0.05, 1.0)(random);
  std::discrete_distribution<std::size_t> pick(eager.begin(), eager.end());
  std::size_t left = 0, in_vain = 0;
  for (const auto& each : steps) left += each.size();
  while (left > 0) {
    const std::size_t device = pick(random);
    if (steps[device].empty()) continue;
    const PanelStep step = steps[device].front();
    if (step.kind == PanelStep::Kind::wait) {
      auto& sent = signals[step.other.value][device];
      if (sent.empty()) {
        REQUIRE_MESSAGE(++in_vain < 100000, "stuck");
        continue;
      }
      REQUIRE(sent.front() == step.words);
      sent.pop_front();
    } else if (step.kind == PanelStep::Kind::signal) {
      signals[device][step.other.value].push_back(step.words);
    } else if (step.kind == PanelStep::Kind::put) {
      const std::uint32_t place = step.block % panels_at_once;
      REQUIRE((!reading[step.other.value] || *reading[step.other.value] % panels_at_once != place));
      panels[step.other.value][place] = step.block;
    } else {
      const bool own =
          PanelOrder(blocks, owners, {static_cast<std::uint32_t>(device)}).owns(step.block);
      REQUIRE((own || panels[device][step.block % panels_at_once] == step.block));
      reading[device] =
          step.kind == PanelStep::Kind::begin_read ? std::optional(step.block) : std::nullopt;
    }
    in_vain = 0;
    steps[device].pop_front();
    --left;
  }
  for (const auto& of : signals)
    // Otherwise the next sample would mistake it for its own.
    for (const auto& to : of) CHECK(to.empty());
}

}  // namespace

TEST_CASE("tropical: blocks cover all vertices, in whole tiles of what is closed at once") {
  for (const std::uint64_t n :
       {1u, 31u, 33u, 255u, 256u, 300u, 2047u, 2048u, 4095u, 4096u, 5000u}) {
    const Blocks blocks = Blocks::of(n);
    CHECK(blocks.edge % blocks.inner == 0);
    std::uint64_t sum = 0;
    for (std::uint64_t block = 0; block < blocks.count(); ++block) {
      CHECK(blocks.size(block) > 0);
      CHECK(blocks.order[blocks.places[block]] == block);
      sum += blocks.size(block);
    }
    CHECK(sum == n);
    CHECK(blocks.stride() >= n);
  }
}

TEST_CASE("tropical: items are blocks in bit-reversed order: shares have one of each few rounds") {
  CHECK(Blocks::of(32 * 6).order == std::vector<std::uint32_t>{0, 4, 2, 1, 5, 3});
  CHECK(Blocks::of(4096 * 2).order[16] == 1);
  for (const std::uint64_t n : {32u * 8, 64u * 32, 256u * 64}) {
    const Blocks blocks = Blocks::of(n);
    for (const std::uint64_t shares : {2u, 4u}) {
      for (std::uint64_t block = 0; block < blocks.count(); block += shares) {
        std::vector<std::uint64_t> share;
        for (std::uint64_t i = block; i < block + shares; ++i)
          share.push_back(blocks.places[i] * shares / blocks.count());
        std::sort(share.begin(), share.end());
        for (std::uint64_t i = 0; i < shares; ++i) CHECK(share[i] == i);
      }
    }
  }
}

TEST_CASE("tropical: panels come when needed and where nobody reads, however fast devices are") {
  std::mt19937_64 random(7);
  for (const std::uint64_t vertices : {1u, 33u, 65u, 97u, 129u, 300u, 1000u}) {
    const Blocks blocks = Blocks::of(vertices);
    for (std::size_t devices = 1; devices <= 5; ++devices) {
      for (int times = 0; times < (testing::is_thorough() ? 20 : 4); ++times) {
        INFO(vertices, " ", devices);
        std::vector<Items> ends(devices);
        for (Items& end : ends) end = random() % (blocks.count() + 1);
        std::sort(ends.begin(), ends.end());
        run_all(blocks, owners_of(blocks.count(), ends), devices, random);
      }
    }
  }
}

}  // namespace mgpu::tropical
