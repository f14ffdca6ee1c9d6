// The fisher suite on the host: the references are right, detect wrong results and report what the
// precision cannot represent; the division of score vectors into blocks, of partials into a tree
// and of tiles into units; and refusals.
#include <doctest/doctest.h>

#include <cmath>
#include <numbers>
#include <random>
#include <set>

#include "suites/fisher/closed_reference.hpp"
#include "suites/fisher/column_scale.hpp"
#include "suites/fisher/demand.hpp"
#include "suites/fisher/gram_layout.hpp"
#include "suites/fisher/gram_reference.hpp"
#include "suites/fisher/gram_workload.hpp"
#include "suites/fisher/limits.hpp"
#include "suites/fisher/points_kernels.hpp"
#include "suites/fisher/points_reference.hpp"
#include "suites/fisher/points_workload.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/suite_params.hpp"
#include "tests/support/thorough.hpp"

namespace mgpu::fisher {
namespace {

using test::has;
using test::Options;

SuiteParams params_with(std::uint64_t points, const Options& given = {}) {
  return test::suite_params("fisher", points, given);
}

ReferenceMatrix reference_matrix(const Options& options, const std::vector<double>& theta,
                                 std::uint64_t seed = 5) {
  auto given = options;
  given["dim"] = std::to_string(theta.size());
  std::vector<float> narrow(theta.begin(), theta.end());
  const bool wide = given.contains("precision") && given["precision"] == "fp64";
  SuiteParams params = params_with(1, given);
  params.seed = seed;
  const Problem problem = problem_of(params);
  const auto bytes = wide ? std::as_bytes(std::span(theta)) : std::as_bytes(std::span(narrow));
  return PointsReference(problem, bytes).matrix(0);
}

std::vector<double> closed(const char* family, const std::vector<double>& theta) {
  return reference_matrix({{"regime", "closed"}, {"precision", "fp64"}, {"family", family}}, theta)
      .values;
}

bool near(double a, double b, double relative = 1e-12) {
  return std::abs(a - b) <= relative * std::max(std::abs(a), std::abs(b));
}

}  // namespace

TEST_CASE("fisher: a full verification looks at every matrix, a sample at as many as take little") {
  SuiteParams params = params_with(100, {{"regime", "models"},
                                         {"model", "softmax"},
                                         {"dim", "5"},
                                         {"classes", "3"},
                                         {"scores", "200000"}});
  params.host_threads = 1;
  PointsWorkload workload(params);
  std::uint64_t done = 0;
  workload.set_host_watch(
      {nullptr, [&](const HostWork&, std::uint64_t so_far) { done = so_far; }, {}});
  workload.begin_sample();
  const Slice all{0, workload.shape().items};
  workload.arrivals().arrived({&all, 1});
  workload.verify(VerifyLevel::sample, 1);
  CHECK((done > 0 && done < 100));
  workload.verify(VerifyLevel::full, 1);
  CHECK(done == 100);
}

TEST_CASE("fisher: closed forms have known values and transform as Fisher matrices do") {
  constexpr double pi = std::numbers::pi;
  CHECK(near(closed("gamma", {1, 2})[0], pi * pi / 6));
  CHECK(near(closed("gamma", {0.5, 2})[0], pi * pi / 2));
  CHECK(closed("gamma", {3, 2})[1] == -0.5);
  CHECK(near(closed("beta", {1, 1})[0], 1));  // psi1(1) - psi1(2)
  CHECK(near(closed("dirichlet", {0.5, 0.5})[1], -pi * pi / 6));
  CHECK(near(closed("binomial", {0.5})[0], 4 * binomial_trials));
  CHECK(near(closed("geometric", {0.5})[0], 8));
  // F' = J^T F J: sigma = sqrt(v); the rate is shape / mean; p = softmax of logits.
  const auto normal = closed("normal", {0.3, std::sqrt(1.7)}),
             variance = closed("normal-variance", {0.3, 1.7});
  CHECK(near(normal[2] / (4 * 1.7), variance[2]));
  const double k = 2.5, mean = 0.7, rate = k / mean, dk = 1 / mean, dmean = -k / (mean * mean);
  const auto by_rate = closed("gamma", {k, rate}), by_mean = closed("gamma-mean", {k, mean});
  CHECK(near(by_rate[0] + 2 * by_rate[1] * dk + by_rate[2] * dk * dk, by_mean[0]));
  CHECK(near(by_rate[2] * dmean * dmean, by_mean[2]));
  CHECK(std::abs(by_rate[1] * dmean + by_rate[2] * dk * dmean) < 1e-12);
  // With two outcomes, d/dlogit of p is p (1 - p), so p (1 - p) in logits is 1 / (p (1 - p)) in p.
  const double p = 1 / (1 + std::exp(-0.8));
  CHECK(near(closed("categorical", {0.8, 0})[0], p * (1 - p)));
  CHECK(near(closed("categorical-free", {p})[0], 1 / (p * (1 - p))));
  const auto categorical = closed("categorical", {0.1, -1, 2});
  CHECK(std::abs(categorical[0] + categorical[1] + categorical[2]) < 1e-15);
}

// Expected values have 34 digits, by the recurrence up to 60 and 15 terms of the asymptotic series.
TEST_CASE("fisher: differences of trigamma have all their digits however small they are") {
  const std::tuple<double, double, long double> differences[] = {
      {100000.0, 0x1p-10, 9.7657225613694200197e-14L}, {3.0, 1e-12, 1.5411380631912909800e-13L},
      {1e-10, 1e-30, 1.9999999999999999480L},          {7.5, 7.5, 7.3677668849019993544e-02L},
      {0.25, 1e-20, 1.2932773993753691323e-18L},       {1e18, 1e-3, 1.0000000000000000218e-39L},
      {0x1p-60, 0x1p-70, 2.5923504231893326578e+33L}};
  for (const auto& [x, d, expected] : differences) {
    const auto& this_x = x;
    CAPTURE(this_x);
    CHECK(std::abs(trigamma_difference(x, d) / expected - 1) < 4e-18L);
  }
  CHECK(trigamma_difference(2.5L, 0) == 0);
  const std::pair<double, long double> distances[] = {
      {1e-3, 9.9900164253319582737e+05L}, {1.0, 6.4493406684822643647e-01L},
      {15.9, 2.0191998380538256136e-03L}, {16.0, 1.9937834032393617818e-03L},
      {20.0, 1.2708229352031198315e-03L}, {1e8, 5.0000000166666666667e-17L},
      {1e30, 4.9999999999999998012e-61L}};
  for (const auto& [x, expected] : distances) {
    const auto& this_x = x;
    CAPTURE(this_x);
    CHECK(std::abs(trigamma_less_reciprocal(x) / expected - 1) < 1e-17L);
  }
}

namespace {

// A family with one parameter that dominates or is large, so that the textbook's formulas lose
// their digits, and the values of the elements.
struct Edge {
  const char* family;
  std::vector<double> theta;
  std::vector<double> values;
};
const Edge edges[] = {
    {"beta",
     {100000, 0x1p-10},
     {9.7657225613694200e-14, -1.0000049902509441e-05, 1048577.6425793921}},
    {"gamma-mean", {1e8, 2}, {5.0000000166666667e-17, 0, 2.5e7}},
    {"dirichlet",
     {1000, 0x1p-10, 0x1p-9},
     {2.9326100564164237e-09, -1.0004972340565769e-03, -1.0004972340565769e-03, 1048577.6415888949,
      -1.0004972340565769e-03, 262145.63925039021}},
    {"categorical",
     {19, 0},
     {5.6027963747546123e-09, -5.6027963747546123e-09, 5.6027963747546123e-09}},
    {"categorical",
     {19, 0, 1},
     {2.0832775314240796e-08, -5.6027962040936665e-09, -1.5229979110147130e-08,
      5.6027962894241392e-09, -8.5330472702099342e-17, 1.5229979195477602e-08}},
    {"categorical-free",
     {0.5, 0.25, 0.25 - 0x1p-30},
     {1073741826, 1073741824, 1073741824, 1073741828, 1073741824, 1073741828.0000000149}},
};

}  // namespace

TEST_CASE("fisher: where one parameter outweighs the others, nothing but the right digits passes") {
  for (const Edge& edge : edges) {
    const ReferenceMatrix right = reference_matrix(
        {{"regime", "closed"}, {"precision", "fp64"}, {"family", edge.family}}, edge.theta);
    CAPTURE(edge.family);
    REQUIRE(right.values.size() == edge.values.size());
    for (std::size_t e = 0; e < edge.values.size(); ++e) {
      CAPTURE(e);
      CHECK(near(right.values[e], edge.values[e], 4e-16));
      // 16 units in the last place, 8 for the sums, and 76 for logits that are 19 apart.
      CHECK(right.allowed[e] <= 110 * 0x1p-53 * std::abs(right.values[e]));
    }
  }
}

TEST_CASE("fisher: points whose matrices the precision cannot hold are named, others are not") {
  const auto said = [](const Options& given, const std::vector<double>& theta) {
    auto options = given;
    options.try_emplace("regime", "closed");
    options["dim"] = std::to_string(theta.size());
    const Problem problem = problem_of(params_with(1, options));
    const std::vector<float> narrow(theta.begin(), theta.end());
    const auto bytes =
        problem.wide ? std::as_bytes(std::span(theta)) : std::as_bytes(std::span(narrow));
    return beyond_precision(problem, bytes, "x.npy");
  };
  const std::pair<const char*, std::vector<double>> beyond_fp32[] = {
      {"normal", {0, 1e-20}},
      {"normal-variance", {0, 1e-20}},
      {"gamma", {1e-23, 1}},
      {"gamma", {1, 1e-38}},
      {"gamma", {1e30, 1e-5}},
      {"gamma-mean", {1e-23, 1}},
      {"beta", {1, 1e-20}},
      {"beta", {1e-20, 1}},
      {"dirichlet", {1, 1, 1e-20}},
      {"poisson", {1e-38}},
      {"geometric", {1e-20}},
      {"exponential", {1e-20}},
      {"laplace", {5, 1e-20}},
      {"binomial", {1e-38}},
      {"categorical-free", {0.5, 0.5 - 0x1p-25}}};
  for (const auto& [family, theta] : beyond_fp32) {
    const auto& this_family = family;
    CAPTURE(this_family);
    const std::string message = said({{"family", family}}, theta);
    CHECK((has(message, "x.npy, row 0") && has(message, "fp32")));
    CHECK(has(message, "--precision fp64"));
    CHECK(said({{"family", family}, {"precision", "fp64"}}, theta) == "");
  }
  const std::pair<const char*, std::vector<double>> within_fp32[] = {
      {"normal", {-1e30, 2e-19}},     {"normal", {1e-30, 1e30}},
      {"gamma", {2e-19, 1}},          {"beta", {1e30, 2e-19}},
      {"categorical", {-1e38, 1e38}}, {"categorical-free", {0.5, 0.49}},
      {"dirichlet", {1e30, 2e-19}},   {"geometric", {0.9999}}};
  for (const auto& [family, theta] : within_fp32) {
    const auto& this_family = family;
    CAPTURE(this_family);
    CHECK(said({{"family", family}}, theta) == "");
  }
  const std::string never = said({{"family", "gamma"}, {"precision", "fp64"}}, {7e-155, 1});
  CHECK(has(never, "row 0, column 0: 7"));
  CHECK_FALSE(has(never, "--precision fp64"));
  const Options gaussian{{"regime", "models"}, {"model", "gaussian"}};
  CHECK(has(said(gaussian, {1e-30, 1e-20}), "column 1"));
  CHECK(said(gaussian, {1e-30, 1e-10}) == "");
}

TEST_CASE(
    "fisher: columns of scores are scaled by powers of two where products leave the precision") {
  const auto scaled = [](const Options& options, std::vector<double> x,
                         std::vector<float>* to = nullptr) {
    const SuiteParams params = params_with(x.size() / 2, [&] {
      auto given = options;
      given["dim"] = "2";
      return given;
    }());
    const Problem problem = problem_of(params);
    HostData data(problem, params, 0);
    if (problem.wide) {
      std::copy(x.begin(), x.end(), reinterpret_cast<double*>(data.input().data()));
    } else {
      std::copy(x.begin(), x.end(), reinterpret_cast<float*>(data.input().data()));
    }
    const ColumnScale scale = scale_columns(problem, data, 2);
    if (to != nullptr)
      to->assign(reinterpret_cast<float*>(data.input().data()),
                 reinterpret_cast<float*>(data.input().data()) + x.size());
    return scale;
  };
  CHECK(scaled({}, {1, -1e11, 3, 1e-11}).exponents.empty());
  std::vector<float> now;
  const ColumnScale large = scaled({}, {0x1.8p70, 2, 0x1p-40, 1, 0, 3}, &now);
  CHECK(large.refused == "");
  CHECK(large.exponents == std::vector<int>{70, 0});
  CHECK(now == std::vector<float>{1.5f, 2, 0x1p-110f, 1, 0, 3});
  CHECK(large.of(0, 1) == 70);
  CHECK(large.of(0, 2) == 140);  // softmax regression: the second class begins with the same column
  CHECK(scaled({}, {1, 0x1p-140, 1, -0x1p-142}).exponents == std::vector<int>{0, -140});
  const std::string apart = scaled({}, {1e30, 1, 1e-30, 1}).refused;
  CHECK((has(apart, "column 0") && has(apart, "fp32") && has(apart, "--precision fp64")));
  CHECK(scaled({{"precision", "fp64"}}, {1e30, 1, 1e-30, 1}).refused == "");
  CHECK(scaled({{"precision", "fp64"}}, {1e153, 1, 1, 1}).exponents == std::vector<int>{508, 0});
  CHECK(has(scaled({{"precision", "fp64"}}, {1e155, 1, 1, 1}).refused, "float64"));
}

TEST_CASE("fisher: philox is that of Random123, by its known answers for seven rounds") {
  CHECK(philox({0, 0, 0, 0}, {0, 0}) ==
        std::array<std::uint32_t, 4>{0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48});
  CHECK(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}) ==
        std::array<std::uint32_t, 4>{0x5207ddc2, 0x45165e59, 0x4d8ee751, 0x8c52f662});
}

TEST_CASE("fisher: matrices from drawn scores tend to the closed forms") {
  const std::vector<double> logits{0.2, -0.4, 0.9, 0}, gaussian{0.5, 2, -1, 0.25}, weights{0, 0, 0};
  struct Expected {
    const char* model;
    std::vector<double> theta, values;
  };
  const Expected cases[] = {
      {"softmax", logits, closed("categorical", logits)},
      {"gaussian", gaussian, {0.25, 0, 0, 0, 0.5, 0, 0, 16, 0, 32}},
      // At 0, y - p is +-1/2 for every x, whose components have variance 1/3.
      {"logistic", weights, {1. / 12, 0, 0, 1. / 12, 0, 1. / 12}},
  };
  for (const Expected& expected : cases) {
    CAPTURE(expected.model);
    double distances[2] = {0, 0};  // root mean square over the seeds
    for (const unsigned many : {0u, 1u}) {
      for (const std::uint64_t seed : {1u, 2u, 3u}) {
        const auto got = reference_matrix(
            {{"regime", "models"}, {"model", expected.model}, {"scores", many ? "64000" : "1000"}},
            expected.theta, seed);
        double distance = 0, size = 0;
        for (std::size_t e = 0; e < got.values.size(); ++e) {
          distance += std::pow(got.values[e] - expected.values[e], 2);
          size += std::pow(expected.values[e], 2);
        }
        distances[many] += distance / size / 3;
      }
      distances[many] = std::sqrt(distances[many]);
    }
    CHECK(distances[0] < 0.25);
    CHECK(distances[1] < distances[0] / 3);
  }
}

TEST_CASE("fisher: the reference of empirical matrices sees one wrong element in any row") {
  for (const char* data : {"uniform", "integers"}) {
    const SuiteParams params =
        params_with(300, {{"dim", "40"}, {"precision", "fp64"}, {"data", data}});
    const Problem problem = problem_of(params);
    const HostData host(problem, params, 0);
    const auto* x = reinterpret_cast<const double*>(host.input().data());
    std::vector<double> f(40 * 40);
    for (std::size_t i = 0; i < 40; ++i) {
      for (std::size_t j = 0; j < 40; ++j) {
        double sum = 0;
        for (std::size_t r = 0; r < 300; ++r) sum += x[r * 40 + i] * x[r * 40 + j];
        f[i * 40 + j] = sum / 300;
      }
    }
    GramReference reference(problem, host, 2);
    const Verdict right = reference.check(f, VerifyLevel::full, 3);
    CHECK_MESSAGE(right.status == Verdict::Status::passed, right.message);
    CHECK(has(right.method, std::string(data) == "integers" ? "exactly" : "float64"));
    for (std::size_t i = 0; i < 40; ++i) {
      std::vector<double> wrong = f;
      wrong[i * 40 + 7] += 1e-6;
      CHECK(reference.check(wrong, VerifyLevel::full, 3).status == Verdict::Status::failed);
    }
    f[0] = std::nan("");
    CHECK(reference.check(f, VerifyLevel::sample, 3).status == Verdict::Status::failed);
  }
}

namespace {

// Returns the sum along the fixed tree, by its definition.
double tree_sum(const std::vector<double>& leaves, const block_tree::TreeNode& node) {
  if (node.level == 0) return leaves[node.index];
  const double left = tree_sum(leaves, {node.level - 1, node.index * 2});
  const block_tree::TreeNode right{node.level - 1, node.index * 2 + 1};
  return right.begin() < leaves.size() ? left + tree_sum(leaves, right) : left;
}

// Does the same as kernels/fisher_combine.cl with a Combination.
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

TEST_CASE("fisher: every row is in one block, chains are short, partials fit beside the input") {
  for (const char* model : {"scores", "softmax"}) {
    for (const std::uint64_t dim : {1u, 70u, 1024u, 4096u}) {
      for (const std::uint64_t points : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1000},
                                         std::uint64_t{1} << 20, (std::uint64_t{1} << 26) + 3}) {
        INFO(dim, " ", points);
        const Problem problem =
            problem_of(params_with(points, {{"model", model}, {"dim", std::to_string(dim)}}));
        const Blocks blocks = Blocks::of(problem);
        CHECK((blocks.first_row(0) == 0 && blocks.first_row(blocks.items) == points));
        CHECK((blocks.first_block(blocks.items) == blocks.blocks && blocks.items >= 1));
        CHECK(blocks.block_rows * problem.scores <= 4096);
        CHECK(blocks.block_rows * blocks.blocks >= points);
        const Bytes partials = blocks.items * problem.triangle() * 8;
        CHECK((partials <= std::max<Bytes>(problem.input_bytes(), Bytes{2} << 30) ||
               blocks.height == Blocks::most_height));
      }
    }
  }
  const Blocks large = Blocks::of(problem_of(params_with(1 << 20, {{"dim", "1024"}})));
  CHECK(large.block_rows == 4096);
  CHECK(large.items == 256);
}

TEST_CASE(
    "fisher: whatever slices a device has, combining leaves the tree's bits in fewest nodes") {
  std::mt19937_64 random(7);
  for (const Items items : {1u, 2u, 5u, 16u, 17u, 100u, 256u, 1000u}) {
    for (int turn = 0; turn < 12; ++turn) {
      INFO(items, " ", turn);
      std::vector<double> leaves(items);
      for (double& x : leaves)
        x = std::ldexp(static_cast<double>(random()), -static_cast<int>(random() % 64));
      std::vector<double> slots = leaves;
      NodeForest forest(items);
      std::vector<block_tree::Range> ranges;
      // Every second slice, of random length, is the device's; each is made into nodes of at most
      // four levels as in the program.
      bool mine = turn % 3 != 0 || items < 2;
      for (Items at = 0; at < items;) {
        const Items end =
            turn == 1 ? items : std::min<Items>(items, at + 1 + random() % (items / 3 + 1));
        if (mine) {
          ranges.push_back({at, end});
          for (block_tree::TreeNode node : block_tree::cover(at, end, items)) {
            const Items last = node.end(items);
            const unsigned level = std::min(node.level, 4u);
            for (Items first = node.begin(); first < last; first += Items{1} << level) {
              const block_tree::TreeNode part{level, first >> level};
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
      std::vector<block_tree::TreeNode> expected;
      for (const auto& range : block_tree::coalesce(ranges)) {
        for (const block_tree::TreeNode& node : block_tree::cover(range.begin, range.end, items))
          expected.push_back(node);
      }
      CHECK(forest.nodes() == expected);
      for (const block_tree::TreeNode& node : expected)
        CHECK(slots[node.begin()] == tree_sum(leaves, node));
    }
  }
}

TEST_CASE("fisher: units hold every tile on and above the diagonal once, two with a common block") {
  auto chosen = testing::one_in(5);
  for (std::uint64_t dim = 1; dim <= most_models_dim; ++dim) {
    if (!chosen()) continue;
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

TEST_CASE("fisher: tensor cores are asked only where they are fast, never by --kernel portable") {
  DeviceTraits traits;
  traits.max_work_group = 1024;
  const auto variants = [&](const Options& given) {
    auto options = given;
    options["regime"] = "models";
    return points_variants(traits, problem_of(params_with(10, options)));
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

TEST_CASE("fisher: problems take defaults from the regime, and what cannot be done is refused") {
  CHECK(problem_of(params_with(10)).dim == 256);
  CHECK(problem_of(params_with(10, {{"model", "softmax"}})).dim == 256);
  CHECK(problem_of(params_with(10, {{"model", "softmax"}, {"dim", "5"}, {"classes", "3"}})).dim ==
        15);
  CHECK(problem_of(params_with(10, {{"regime", "models"}})).model == Model::softmax);
  CHECK(problem_of(params_with(10, {{"regime", "closed"}, {"family", "beta"}})).dim == 2);
  CHECK(problem_of(params_with(10, {{"regime", "closed"}, {"family", "dirichlet"}, {"dim", "7"}}))
            .dim == 7);
  struct Refused {
    Options options;
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
        test::refusal([&] { problem_of(params_with(10, refused.options)); });
    CHECK((has(message, refused.option) && has(message, refused.accepted)));
  }
}

TEST_CASE("fisher: what a problem asks of a device at least is counted for each regime") {
  DeviceTraits gpu, cpu;
  cpu.cpu = true;
  const auto asked = [](const Options& options, const DeviceTraits& device) {
    return demand_of(problem_of(params_with(1000, options)), device);
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

TEST_CASE("fisher: rates compare by what kernels do: whole tiles, and points of a dimension") {
  const auto cost = [](const Options& options) {
    const GramWorkload workload(params_with(1000, options));
    const Shape& shape = workload.shape();
    return shape.cost.ops * static_cast<double>(shape.items);
  };
  CHECK(cost({{"dim", "256"}}) == doctest::Approx(2 * 1000.0 * 3 * 128 * 128));
  CHECK(cost({{"dim", "200"}}) == cost({{"dim", "256"}}));
  CHECK(cost({{"dim", "60"}}) == doctest::Approx(2 * 1000.0 * 64 * 64));
  const auto point = [](const Options& options) {
    return work_of_point(problem_of(params_with(1000, options)));
  };
  CHECK(point({{"regime", "closed"}, {"family", "gamma"}}) == 2 + 3);
  for (const char* model : {"logistic", "gaussian"}) {
    const Options of_32{{"regime", "models"}, {"model", model}};
    auto of_64 = of_32, half = of_32;
    of_64["dim"] = "64";
    half["scores"] = "128";
    CHECK(point(of_64) > 2 * point(of_32));
    CHECK(point(of_64) < 4 * point(of_32));
    CHECK(point(half) == doctest::Approx(point(of_32) / 2));
  }
}

}  // namespace mgpu::fisher
