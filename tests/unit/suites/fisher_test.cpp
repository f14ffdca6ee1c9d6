// How score vectors fall into blocks, partials into a tree, tiles into units; what is refused.
// The references are tested in fisher_reference_test.cpp, what devices compute in
// tests/opencl/fisher_test.cpp.
#include <doctest/doctest.h>

#include <random>
#include <set>

#include "suites/fisher/demand.hpp"
#include "suites/fisher/gram_layout.hpp"
#include "suites/fisher/gram_workload.hpp"
#include "suites/fisher/points_kernels.hpp"
#include "tests/support/fisher_problem.hpp"
#include "tests/support/refusal.hpp"

using namespace mgpu;
using namespace mgpu::fisher;
using mgpu::block_tree::TreeNode;
using mgpu::testing::fisher_params;

namespace {

// The sum along the fixed tree, by its definition.
double tree_sum(const std::vector<double>& leaves, const TreeNode& node) {
  if (node.level == 0) return leaves[node.index];
  const double left = tree_sum(leaves, {node.level - 1, node.index * 2});
  const TreeNode right{node.level - 1, node.index * 2 + 1};
  return right.begin() < leaves.size() ? left + tree_sum(leaves, right) : left;
}

// What kernels/fisher_combine.cl does with a Combination.
void carry_out(const Combination& step, std::vector<double>& slots) {
  for (std::uint64_t g = 0; g < step.groups; ++g) {
    std::vector<double> v;
    for (unsigned k = 0; k < step.count; ++k)
      v.push_back(slots.at(step.first + g * step.stride + k * step.child_stride));
    for (std::size_t width = 1; width < v.size(); width *= 2) {
      for (std::size_t k = 0; k + width < v.size(); k += 2 * width) v[k] += v[k + width];
    }
    slots[step.first + g * step.stride] = v[0];
  }
}

}  // namespace

TEST_CASE(
    "every row is in exactly one block, chains are short, and partials fit beside the input") {
  for (const char* model : {"scores", "softmax"}) {
    for (const std::uint64_t dim : {1u, 70u, 1024u, 4096u}) {
      for (const std::uint64_t points : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1000},
                                         std::uint64_t{1} << 20, (std::uint64_t{1} << 26) + 3}) {
        CAPTURE(dim);
        CAPTURE(points);
        const Problem problem =
            problem_of(fisher_params(points, {{"model", model}, {"dim", std::to_string(dim)}}));
        const Blocks blocks = Blocks::of(problem);
        CHECK(blocks.first_row(0) == 0);
        CHECK(blocks.first_row(blocks.items) == points);
        CHECK(blocks.first_block(blocks.items) == blocks.blocks);
        CHECK(blocks.items >= 1);
        CHECK(blocks.block_rows * problem.scores <= 4096);
        CHECK(blocks.block_rows * blocks.blocks >= points);
        const Bytes partials = blocks.items * problem.triangle() * 8;
        CHECK((partials <= std::max<Bytes>(problem.input_bytes(), Bytes{2} << 30) ||
               blocks.height == Blocks::most_height));
      }
    }
  }
  const Blocks large = Blocks::of(problem_of(fisher_params(1 << 20, {{"dim", "1024"}})));
  CHECK(large.block_rows == 4096);
  CHECK(large.items == 256);
}

TEST_CASE(
    "whatever slices a device has, combining leaves the fewest nodes, with the bits of the tree") {
  std::mt19937_64 random(7);
  for (const Items items : {1u, 2u, 5u, 16u, 17u, 100u, 256u, 1000u}) {
    for (int turn = 0; turn < 12; ++turn) {
      CAPTURE(items);
      CAPTURE(turn);
      std::vector<double> leaves(items);
      for (double& x : leaves)
        x = std::ldexp(static_cast<double>(random()), -static_cast<int>(random() % 64));
      std::vector<double> slots = leaves;
      NodeForest forest(items);
      std::vector<block_tree::Range> ranges;
      // Every second device's slices of random lengths, each made into nodes of at most four levels
      // as the program does.
      bool mine = turn % 3 != 0 || items < 2;
      for (Items at = 0; at < items;) {
        const Items end =
            turn == 1 ? items : std::min<Items>(items, at + 1 + random() % (items / 3 + 1));
        if (mine) {
          ranges.push_back({at, end});
          for (TreeNode node : block_tree::cover(at, end, items)) {
            const Items last = node.end(items);
            const unsigned level = std::min(node.level, 4u);
            for (Items first = node.begin(); first < last; first += Items{1} << level) {
              const TreeNode part{level, first >> level};
              slots[first] = tree_sum(leaves, part);
              forest.add(part);
            }
          }
        }
        if (turn > 1) mine = !mine;
        at = end;
      }
      if (ranges.empty()) continue;
      for (const Combination& step : forest.combine()) {
        CHECK(step.count <= 16);
        carry_out(step, slots);
      }
      std::vector<TreeNode> expected;
      for (const auto& range : block_tree::coalesce(ranges)) {
        for (const TreeNode& node : block_tree::cover(range.begin, range.end, items))
          expected.push_back(node);
      }
      CHECK(forest.nodes() == expected);
      for (const TreeNode& node : expected) CHECK(slots[node.begin()] == tree_sum(leaves, node));
    }
  }
}

TEST_CASE("one device with everything combines 1024 blocks in three launches at most") {
  NodeForest forest(1024);
  for (Items i = 0; i < 1024; ++i) forest.add({0, i});
  CHECK(forest.combine().size() <= 3);
  CHECK(forest.nodes() == std::vector<TreeNode>{{10, 0}});
}

TEST_CASE(
    "units hold every tile on and above the diagonal exactly once, two with a common block, but "
    "for one at most") {
  for (std::uint64_t dim = 1; dim <= most_models_dim; ++dim) {
    const std::uint32_t edge = static_cast<std::uint32_t>(dim + 7) / 8;
    std::multiset<std::pair<std::uint32_t, std::uint32_t>> tiles;
    std::size_t single = 0;
    for (const std::uint32_t unit : units_of(dim)) {
      const std::uint32_t a = unit & 255, b = unit >> 8 & 255, c = unit >> 16 & 255;
      tiles.insert(std::minmax(a, b));
      if (unit >> 24 != 0) tiles.insert(std::minmax(a, c));
      single += unit >> 24 == 0;
    }
    CHECK(single <= 1);
    CHECK(tiles.size() == edge * (edge + 1) / 2);
    CHECK(std::set(tiles.begin(), tiles.end()).size() == tiles.size());
  }
}

TEST_CASE(
    "tensor cores are asked only where they are fast, for small matrices whose scores have "
    "products, and never by --kernel "
    "portable") {
  DeviceTraits traits;
  traits.max_work_group = 1024;
  const auto variants = [&](const std::map<std::string, std::string>& given) {
    auto options = given;
    options["regime"] = "models";
    return points_variants(traits, problem_of(fisher_params(10, options)));
  };
  CHECK(variants({{"model", "logistic"}}).size() == 1);
  traits.fp64_tensor = true;
  for (const char* model : {"logistic", "gaussian"}) {
    const std::vector<PointsVariant> both = variants({{"model", model}});
    REQUIRE(both.size() == 2);
    CHECK((both.front().to_be_tried && !both.back().to_be_tried));
    CHECK(variants({{"model", model}, {"kernel", "portable"}}).size() == 1);
    CHECK(variants({{"model", model}, {"dim", "40"}}).size() == 1);
  }
  CHECK(variants({{"model", "softmax"}}).size() == 1);
}

TEST_CASE(
    "problems take their defaults from the regime, and what cannot be done is refused with what "
    "can") {
  CHECK(problem_of(fisher_params(10)).dim == 256);
  CHECK(problem_of(fisher_params(10, {{"model", "softmax"}})).dim == 256);
  CHECK(problem_of(fisher_params(10, {{"model", "softmax"}, {"dim", "5"}, {"classes", "3"}})).dim ==
        15);
  CHECK(problem_of(fisher_params(10, {{"regime", "models"}})).model == Model::softmax);
  CHECK(problem_of(fisher_params(10, {{"regime", "closed"}, {"family", "beta"}})).dim == 2);
  CHECK(problem_of(fisher_params(10, {{"regime", "closed"}, {"family", "dirichlet"}, {"dim", "7"}}))
            .dim == 7);
  struct Refused {
    std::map<std::string, std::string> options;
    const char *option, *accepted;
  };
  const Refused cases[] = {
      {{{"dim", "0"}}, "--dim", "1 to 16384"},
      {{{"dim", "16385"}}, "--dim", "1 to 16384"},
      {{{"model", "gaussian"}}, "--model", "scores, logistic, softmax"},
      {{{"model", "softmax"}, {"classes", "65"}}, "--classes", "1 to 64"},
      {{{"model", "softmax"}, {"dim", "9000"}}, "--dim times --classes", "16384"},
      {{{"params", "p.npy"}}, "--params", "--model logistic"},
      {{{"regime", "models"}, {"model", "scores"}}, "--model", "gaussian"},
      {{{"regime", "models"}, {"dim", "129"}}, "--dim", "1 to 128"},
      {{{"regime", "models"}, {"scores", "0"}}, "--scores", "1 to"},
      {{{"regime", "models"}, {"model", "gaussian"}, {"dim", "7"}}, "--dim", "even"},
      {{{"regime", "models"}, {"precision", "fp64"}}, "--precision", "fp32"},
      {{{"regime", "closed"}, {"family", "gamma"}, {"dim", "3"}}, "--dim", "2"},
      {{{"regime", "closed"}, {"family", "dirichlet"}, {"dim", "1025"}}, "--dim", "1 to 1024"},
  };
  for (const Refused& refused : cases) {
    CAPTURE(refused.option);
    const std::string message =
        test::refusal([&] { problem_of(fisher_params(10, refused.options)); });
    CHECK(test::has(message, refused.option));
    CHECK(test::has(message, refused.accepted));
  }
}

TEST_CASE(
    "what a problem asks of a device at least is counted for each regime, of CPUs only what every "
    "device must do") {
  DeviceTraits gpu, cpu;
  cpu.cpu = true;
  const auto asked = [](const std::map<std::string, std::string>& options,
                        const DeviceTraits& device) {
    return demand_of(problem_of(fisher_params(1000, options)), device);
  };
  for (const DeviceTraits& device : {gpu, cpu}) {
    const Demand gram = asked({{"dim", "20"}}, device);
    CHECK(gram.fp32 == 1000.0 * 20 * 21);
    CHECK(gram.fp64 == 0);
    CHECK(gram.memory_bytes == 1000 * 20 * 4 + 210 * 8);
    CHECK(asked({{"dim", "20"}, {"precision", "fp64"}}, device).fp64 == 1000.0 * 20 * 21);
    CHECK(asked({{"dim", "20"}, {"model", "softmax"}, {"classes", "3"}}, device).fp32 ==
          1000.0 * 6 * 20 * 21);
  }
  const Demand beta = asked({{"regime", "closed"}, {"family", "beta"}, {"precision", "fp64"}}, gpu);
  CHECK(beta.memory_bytes == 1000 * (2 + 3) * 8);
  CHECK(beta.fp64 >
        3 * asked({{"regime", "closed"}, {"family", "normal"}, {"precision", "fp64"}}, gpu).fp64);
  for (const char* model : {"logistic", "gaussian", "softmax"}) {
    const Demand demand = asked({{"regime", "models"}, {"model", model}, {"scores", "64"}}, gpu);
    CHECK(demand.memory_bytes == 1000 * (32 + 528) * 4);
    CHECK(demand.int32 > 0);
    CHECK((demand.fp32 > 2.0 * 1000 * 64 * 528) == (std::string(model) != "softmax"));
    const Demand on_cpu = asked({{"regime", "models"}, {"model", model}}, cpu);
    CHECK((on_cpu.fp32 == 0 && on_cpu.int32 == 0 && on_cpu.memory_bytes == 0));
  }
}

TEST_CASE(
    "rates compare by what kernels do: whole tiles, and what a point of another dimension takes") {
  const auto cost = [](const std::map<std::string, std::string>& options) {
    const GramWorkload workload(fisher_params(1000, options));
    const Shape& shape = workload.shape();
    return shape.cost.ops * static_cast<double>(shape.items);
  };
  CHECK(cost({{"dim", "256"}}) == doctest::Approx(2 * 1000.0 * 3 * 128 * 128));
  CHECK(cost({{"dim", "200"}}) == cost({{"dim", "256"}}));
  CHECK(cost({{"dim", "60"}}) == doctest::Approx(2 * 1000.0 * 64 * 64));
  const auto point = [](const std::map<std::string, std::string>& options) {
    return work_of_point(problem_of(fisher_params(1000, options)));
  };
  CHECK(point({{"regime", "closed"}, {"family", "gamma"}}) == 2 + 3);
  for (const char* model : {"logistic", "gaussian"}) {
    const std::map<std::string, std::string> of_32{{"regime", "models"}, {"model", model}};
    auto of_64 = of_32, half = of_32;
    of_64["dim"] = "64";
    half["scores"] = "128";
    CHECK(point(of_64) > 2 * point(of_32));
    CHECK(point(of_64) < 4 * point(of_32));
    CHECK(point(half) == doctest::Approx(point(of_32) / 2));
  }
}
