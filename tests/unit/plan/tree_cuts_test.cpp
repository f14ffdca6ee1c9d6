// Nodes that cover a range, cuts that leave few nodes, and sources that cut that way if results are
// combined along a tree.
#include "lib/plan/tree_cuts.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "lib/plan/simulator.hpp"
#include "lib/plan/static_source.hpp"
#include "lib/plan/strategy.hpp"

using namespace mgpu;
using std::chrono::microseconds;

namespace {

struct TreeProblem {
  std::vector<DeviceEstimate> devices;
  PlanRequest request;
  TreeProblem(Items items, std::vector<double> rates, Nanos part, bool tree) {
    for (const double rate : rates) {
      DeviceEstimate device;
      device.items_per_s = rate;
      device.fits = items;
      devices.push_back(device);
    }
    request.items = items;
    request.devices = devices;
    request.merge = {Nanos{}, part, tree};
  }
};

// Counts the nodes by asking every node from the root down whether it lies in the range.
std::size_t nodes_below(const Slice& node, const Slice& range, Items items) {
  const Slice held{node.begin, std::min(node.end, items)};
  if (held.begin >= range.end || held.end <= range.begin || held.size() == 0) return 0;
  if (held.begin >= range.begin && held.end <= range.end) return 1;
  const Items middle = node.begin + node.size() / 2;
  return nodes_below({node.begin, middle}, range, items) +
         nodes_below({middle, node.end}, range, items);
}

// Returns slices in the order in which equal devices ask in turn, each finished at once.
std::vector<Slice> slices_of(const PlanRequest& request, std::string_view strategy) {
  const StrategyChoice choice = parse_strategies(strategy).front();
  const auto source = choice.info->make(choice.params)->begin(request, {});
  std::vector<Slice> slices;
  for (bool any = true; any;) {
    any = false;
    for (std::uint32_t i = 0; i < request.devices.size(); ++i) {
      const Answer answer = source->next({i});
      const Slice* slice = std::get_if<Slice>(&answer);
      if (slice == nullptr) continue;
      slices.push_back(*slice);
      source->finished({i}, *slice, Nanos{static_cast<std::int64_t>(slice->size()) * 1000});
      any = true;
    }
  }
  return slices;
}

}  // namespace

TEST_CASE("as many nodes as the cover of a range has") {
  for (const Items items : {1, 2, 7, 8, 31, 64, 100}) {
    for (Items begin = 0; begin < items; ++begin) {
      for (Items end = begin; end <= items; ++end) {
        CHECK(nodes_that_cover({begin, end}, items) ==
              (begin == end ? 0 : nodes_below({0, 128}, {begin, end}, items)));
      }
    }
  }
}

TEST_CASE("the evenest cut is a multiple of the largest power of two, and of the granularity") {
  CHECK(even_cut(60, 65, 70, 1) == 64);
  CHECK(even_cut(61, 63, 63, 1) == 62);
  CHECK(even_cut(8, 13, 24, 1) == 16);
  CHECK(even_cut(9, 10, 11, 1) == 10);
  CHECK(even_cut(65, 65, 65, 1) == 65);
  CHECK(even_cut(4, 11, 13, 3) == 12);   // 12 = 4 * 3
  CHECK(even_cut(10, 16, 22, 6) == 12);  // 12 and 18 are multiples of 6, 12 also of 4
  CHECK(even_cut(7, 8, 8, 5) == 8);      // no multiple in the range
  CHECK(even_end(0, 6, 8, 1) == 8);
  CHECK(even_end(0, 6, 6, 1) == 4);
  CHECK(even_end(16, 1, 1, 1) == 17);
}

TEST_CASE("chunks end evenly where results are combined along a tree, each item once") {
  for (const std::string_view strategy : {"dynamic:chunks=10", "guided", "stealing", "adaptive"}) {
    CAPTURE(strategy);
    for (const Items items : {128, 127, 1000}) {
      CAPTURE(items);
      std::size_t nodes[2] = {0, 0};
      for (const bool tree : {false, true}) {
        const TreeProblem problem(items, {100, 100, 90}, std::chrono::milliseconds(20),
                                  tree);  // the time of two items
        std::vector<Slice> slices = slices_of(problem.request, strategy);
        for (const Slice& slice : slices) nodes[tree] += nodes_that_cover(slice, items);
        std::sort(slices.begin(), slices.end());
        Items at = 0;
        for (const Slice& slice : slices) {
          CHECK(slice.begin == at);
          at = slice.end;
        }
        CHECK(at == items);
      }
      CHECK(nodes[true] < nodes[false]);
    }
  }
  // If a merge costs next to nothing, the last two chunks are the same as without a tree.
  for (const auto& [part, cut] : {std::pair{std::chrono::milliseconds(100), Items{64}},
                                  {std::chrono::milliseconds(1), Items{61}}}) {
    const TreeProblem two(128, {61, 67}, part, true);
    CHECK(slices_of(two.request, "guided:min=61").front() == Slice{0, cut});
  }
  // Chunks of six out of 128 items become chunks of eight, each a node, except the last.
  const TreeProblem problem(128, {1, 1}, microseconds(1), true);
  const std::vector<Slice> slices = slices_of(problem.request, "dynamic:chunks=11");
  REQUIRE(slices.size() >= 14);
  for (std::size_t i = 0; i < 12; ++i) CHECK(slices[i] == Slice{8 * i, 8 * i + 8});
}

TEST_CASE("shares are cut evenly where that saves more of the merge than it costs") {
  const auto shares = [](Nanos part, bool tree) {
    const TreeProblem problem(64, {33, 31}, part, tree);  // an item takes 30 ms
    return shares_by_weight(problem.request, {33, 31});
  };
  CHECK(shares(std::chrono::seconds(1), false) == std::vector<Items>{33, 31});
  CHECK(shares(std::chrono::seconds(1), true) == std::vector<Items>{32, 32});
  CHECK(shares(microseconds(1), true) == std::vector<Items>{33, 31});
  // A cut never moves by more than a sixteenth of the smaller share.
  const TreeProblem far(64, {36, 28}, std::chrono::seconds(1), true);
  CHECK(shares_by_weight(far.request, {36, 28}) == std::vector<Items>{36, 28});
}

TEST_CASE("latency weighs the nodes that shares leave to merge") {
  // Four shares of 32 are four nodes, three of 42 or 43 are 14: a node takes as long as 15 items.
  const TreeProblem tree(128, {1000, 1000, 1000, 1000}, std::chrono::milliseconds(15), true);
  const std::vector<Slice> quarters = slices_of(tree.request, "latency");
  CHECK(quarters == std::vector<Slice>{{0, 32}, {32, 64}, {64, 96}, {96, 128}});
  // If all parts cost the same regardless of length, three devices save one part.
  const TreeProblem parts(128, {1000, 1000, 1000, 1000}, std::chrono::milliseconds(15), false);
  CHECK(slices_of(parts.request, "latency").size() == 3);
  // The root counts as no part.
  const TreeProblem dear(128, {1000, 1000, 1000, 1000}, std::chrono::milliseconds(50), true);
  CHECK(slices_of(dear.request, "latency") == std::vector<Slice>{{0, 128}});
}

TEST_CASE("what is simulated merges the nodes") {
  for (const bool tree : {false, true}) {
    TreeProblem problem(64, {33, 31}, microseconds(100), tree);
    const auto merge = [&] {
      return simulate(problem.request,
                      *make_static_source(problem.request, std::vector<Items>{33, 31}))
          .merge;
    };
    CHECK(merge() == (tree ? 7 : 2) * microseconds(100));  // 32 + 1; 1 + 2 + 4 + 8 + 16
  }
}

TEST_CASE("merging the root of a tree costs nothing, a part of anything else what is fixed") {
  using std::chrono::microseconds;
  CHECK(MergeEstimate{microseconds(10), microseconds(5), true}.of(1) == Nanos{});
  CHECK(MergeEstimate{microseconds(10), microseconds(5), false}.of(1) == microseconds(10));
  CHECK(MergeEstimate{microseconds(10), microseconds(5), true}.of(3) == microseconds(25));
}
