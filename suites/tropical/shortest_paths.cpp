#include "suites/tropical/shortest_paths.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <type_traits>

#include "lib/base/error.hpp"
#include "lib/workload/parallel_for.hpp"
#include "suites/common/number_text.hpp"

namespace mgpu::tropical {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr std::uint64_t no_vertex = ~std::uint64_t{0};

// Returns a number as a cost: the smallest is best, and missing edges are infinite.
template <class Number>
double cost(const Problem& problem, Number number) {
  if (number == nothing<Number>(problem.maximum)) return infinite;
  return problem.maximum ? -static_cast<double>(number) : static_cast<double>(number);
}

std::string shown(const Problem& problem, double length) {
  return number_text(problem.maximum ? -length : length);
}

// Returns the vertices of a cycle of `parent` in the order of its edges, or nothing.
std::vector<std::uint64_t> cycle_of(const std::vector<std::uint64_t>& parent) {
  std::vector<std::uint64_t> seen(parent.size(), no_vertex);
  for (std::uint64_t start = 0; start < parent.size(); ++start) {
    std::uint64_t v = start;
    for (; v != no_vertex && seen[v] == no_vertex; v = parent[v]) seen[v] = start;
    if (v == no_vertex || seen[v] != start) continue;
    std::vector<std::uint64_t> cycle{v};
    for (std::uint64_t u = parent[v]; u != v; u = parent[u]) cycle.push_back(u);
    std::reverse(cycle.begin(), cycle.end());
    return cycle;
  }
  return {};
}

template <class Number>
[[noreturn]] void refuse_cycle(const Problem& problem, std::span<const Number> weights,
                               const std::vector<std::uint64_t>& cycle) {
  constexpr std::size_t most_shown = 8;
  double length = 0;
  std::string text;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    length += cost(problem, weights[cycle[i] * problem.rows + cycle[(i + 1) % cycle.size()]]);
    if (i < most_shown) text += std::to_string(cycle[i]) + " -> ";
  }
  if (cycle.size() > most_shown) text += "... -> ";
  throw Error(ErrorKind::input, "--input: the cycle " + text + std::to_string(cycle.front()) +
                                    " (vertices from 0) has length " + shown(problem, length) +
                                    ", so that paths get " +
                                    (problem.maximum ? "longer" : "shorter") +
                                    " without end; expected: graphs whose cycles are all at " +
                                    (problem.maximum ? "most" : "least") + " 0 long");
}

// Best paths from a vertex: their lengths, the sums of absolute weights, and the numbers of edges.
struct Tree {
  std::vector<double> length, magnitude;
  std::vector<std::uint32_t> edges;
};

template <class Number>
Tree dijkstra(const Problem& problem, std::span<const Number> weights,
              std::span<const double> potentials, std::uint64_t source) {
  const std::uint64_t n = problem.rows;
  Tree tree{std::vector<double>(n, infinite), std::vector<double>(n, 0),
            std::vector<std::uint32_t>(n, 0)};
  std::vector<double> reduced(n, infinite);
  std::vector<bool> done(n, false);
  reduced[source] = tree.length[source] = 0;
  for (;;) {
    std::uint64_t u = no_vertex;
    for (std::uint64_t v = 0; v < n; ++v)
      if (!done[v] && reduced[v] < infinite && (u == no_vertex || reduced[v] < reduced[u])) u = v;
    if (u == no_vertex) return tree;
    done[u] = true;
    for (std::uint64_t v = 0; v < n; ++v) {
      const double w = cost(problem, weights[u * n + v]),
                   by_u = reduced[u] + (w + potentials[u] - potentials[v]);
      if (done[v] || w == infinite || by_u >= reduced[v]) continue;
      reduced[v] = by_u;
      tree.length[v] = tree.length[u] + w;
      tree.magnitude[v] = tree.magnitude[u] + std::abs(w);
      tree.edges[v] = tree.edges[u] + 1;
    }
  }
}

// Tells whether device lengths are exact: fp32 rounds them, in the order of the rounds, unless they
// are integers that it represents.
template <class Number>
bool is_exact(const Problem& problem, std::span<const Number> weights) {
  if constexpr (!std::is_same_v<Number, float>) return true;
  double largest = 0;
  for (const Number w : weights) {
    if (w == nothing<Number>(problem.maximum)) continue;
    if (std::trunc(w) != w) return false;
    largest = std::max(largest, std::abs(static_cast<double>(w)));
  }
  return largest * static_cast<double>(problem.rows) < 0x1p24;
}

template <class Number>
class RowCheck {
 public:
  RowCheck(const Problem& problem, const Lengths<Number>& found, bool exact)
      : problem_(problem), found_(found), exact_(exact) {}

  std::string lengths(std::uint64_t source, const Tree& tree) const {
    for (std::uint64_t v = 0; v < problem_.rows; ++v) {
      const double length = cost(problem_, found_.lengths[source * problem_.rows + v]),
                   expected = tree.length[v];
      if (length == expected) continue;
      // Twice the rounding errors of the edges, since the device may have found another path of
      // about the same length.
      const double allowed = exact_ ? 0 : 0x1p-23 * (tree.edges[v] + 8.0) * tree.magnitude[v];
      if (std::abs(length - expected) <= allowed) continue;
      return "the length from " + std::to_string(source) + " to " + std::to_string(v) + " is " +
             shown(problem_, length) + ", Dijkstra says " + shown(problem_, expected);
    }
    return "";
  }

  // Checks that each vertex follows its predecessor by an edge as long as their distance, and that
  // no vertex precedes itself.
  std::string paths(std::uint64_t source, const Tree& tree) const {
    const std::uint64_t n = problem_.rows;
    std::vector<std::uint64_t> parent(n, no_vertex);
    for (std::uint64_t v = 0; v < n; ++v) {
      const std::int32_t before = found_.before[source * n + v];
      const bool there = v != source && tree.length[v] < infinite;
      if (!there && before == -1) continue;
      if (!there || before < 0 || static_cast<std::uint64_t>(before) >= n)
        return wrong(source, v, before);
      parent[v] = static_cast<std::uint64_t>(before);
      const double w = cost(problem_, found_.weights[parent[v] * n + v]);
      const double by_it = cost(problem_, found_.lengths[source * n + parent[v]]) + w;
      const double allowed =
          exact_ ? 0 : 0x1p-22 * (tree.edges[v] + 8.0) * (tree.magnitude[v] + std::abs(w));
      if (!(std::abs(by_it - cost(problem_, found_.lengths[source * n + v])) <= allowed))
        return wrong(source, v, before);
    }
    if (const auto cycle = cycle_of(parent); !cycle.empty())
      return "the path from " + std::to_string(source) + " to " + std::to_string(cycle.front()) +
             " goes round in a circle";
    return "";
  }

 private:
  std::string wrong(std::uint64_t source, std::uint64_t v, std::int32_t before) const {
    return "on the path from " + std::to_string(source) + " to " + std::to_string(v) + " vertex " +
           std::to_string(before) + " cannot be the last but one";
  }
  const Problem& problem_;
  const Lengths<Number>& found_;
  bool exact_;
};

template <class Number>
std::string first_wrong(const Problem& problem, const Lengths<Number>& found,
                        std::span<const double> potentials,
                        const std::vector<std::uint64_t>& sources, bool exact, unsigned threads) {
  const RowCheck<Number> check(problem, found, exact);
  std::vector<std::string> messages(sources.size());
  parallel_for(sources.size(), threads, [&](std::uint64_t i) {
    const Tree tree = dijkstra(problem, found.weights, potentials, sources[i]);
    messages[i] = check.lengths(sources[i], tree);
    if (messages[i].empty() && !found.before.empty()) messages[i] = check.paths(sources[i], tree);
  });
  const auto wrong = std::find_if(messages.begin(), messages.end(),
                                  [](const std::string& message) { return !message.empty(); });
  return wrong == messages.end() ? "" : *wrong;
}

// Bellman-Ford from a virtual vertex with an edge of length 0 to every vertex.
template <class Number>
std::vector<double> relaxed(const Problem& problem, std::span<const Number> weights) {
  const std::uint64_t n = problem.rows;
  std::vector<double> length(n, 0);
  std::vector<std::uint64_t> parent(n, no_vertex);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint64_t u = 0; u < n; ++u) {
      for (std::uint64_t v = 0; v < n; ++v) {
        const double by_u = length[u] + cost(problem, weights[u * n + v]);
        if (by_u >= length[v]) continue;
        length[v] = by_u;
        parent[v] = u;
        changed = true;
      }
    }
    // A negative cycle shows up among the parents long before n passes are over.
    if (const auto cycle = cycle_of(parent); changed && !cycle.empty())
      refuse_cycle(problem, weights, cycle);
  }
  return length;
}

}  // namespace

template <class Number>
std::vector<double> potentials_of(const Problem& problem, std::span<const Number> weights) {
  const bool any =
      std::any_of(weights.begin(), weights.end(), [&](Number w) { return cost(problem, w) < 0; });
  return any ? relaxed(problem, weights) : std::vector<double>(problem.rows, 0);
}

template <class Number>
Finding check_paths(const Problem& problem, const Lengths<Number>& found,
                    std::span<const double> potentials, bool whole, std::uint64_t seed,
                    unsigned threads) {
  const std::uint64_t n = problem.rows;
  // About four seconds per thread, and one.
  const double most =
      (whole ? 1e9 : 2e8) * threads / (static_cast<double>(n) * static_cast<double>(n));
  std::vector<std::uint64_t> sources(n);
  std::iota(sources.begin(), sources.end(), 0);
  if (most < static_cast<double>(n) && n > 2) {
    std::mt19937_64 random(seed);
    sources = {0, n - 1};
    while (static_cast<double>(sources.size()) < most) sources.push_back(random() % n);
  }
  const bool exact = is_exact(problem, found.weights);
  const std::string wrong = first_wrong(problem, found, potentials, sources, exact, threads);
  std::string method = "lengths";
  if (!found.before.empty()) method += " and paths";
  method += sources.size() == n ? " from all vertices"
                                : " from " + std::to_string(sources.size()) + " vertices";
  method += exact ? ", bit for bit, with Dijkstra's on the host"
                  : ", within roundings, with Dijkstra's on the host";
  return {method, wrong};
}

template <class Number>
std::string route_text(const Problem& problem, const Lengths<Number>& found) {
  constexpr std::size_t most_shown = 24;
  if (!problem.route) return "";
  const auto [from, to] = *problem.route;
  const std::string text = "; route " + std::to_string(from) + " -> " + std::to_string(to) + ": ";
  const double length = cost(problem, found.lengths[from * problem.rows + to]);
  if (length == infinite) return text + "there is none";
  std::vector<std::uint64_t> vertices{to};
  while (vertices.back() != from && vertices.size() <= problem.rows)
    vertices.push_back(
        static_cast<std::uint64_t>(found.before[from * problem.rows + vertices.back()]));
  std::string list;
  for (std::size_t i = 0; i < vertices.size(); ++i) {
    const std::size_t at = vertices.size() - 1 - i;
    if (i < most_shown || at == 0)
      list += std::to_string(vertices[at]) + (at == 0 ? "" : " ");
    else if (i == most_shown)
      list += "... ";
  }
  return text + list + ", length " + shown(problem, length);
}

#define MGPU_FOR(Number)                                                                        \
  template std::vector<double> potentials_of<Number>(const Problem&, std::span<const Number>);  \
  template Finding check_paths<Number>(const Problem&, const Lengths<Number>&,                  \
                                       std::span<const double>, bool, std::uint64_t, unsigned); \
  template std::string route_text<Number>(const Problem&, const Lengths<Number>&);
MGPU_FOR(float)
MGPU_FOR(std::int32_t)
#undef MGPU_FOR

}  // namespace mgpu::tropical
