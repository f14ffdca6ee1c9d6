// Suite pinn without devices: the tree of shards, networks in wider ones, solutions, and the check
// that must detect wrong results.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>
#include <random>

#include "suites/pinn/compressed.hpp"
#include "suites/pinn/findings.hpp"
#include "suites/pinn/nodes.hpp"
#include "suites/pinn/reference.hpp"
#include "suites/pinn/solution.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/suite_params.hpp"
#include "tests/support/thorough.hpp"

namespace mgpu::pinn {
namespace {

Problem small_problem(Equation equation = Equation::burgers) {
  Problem problem;
  problem.equation = equation;
  problem.layers = 2;
  problem.width = 5;
  problem.points = 24;
  problem.boundary = 6;
  problem.initial = problem.in_time() ? 5 : 0;
  problem.shards = 4;
  problem.steps = 1;
  return problem;
}

// Returns the outcome of one step on a correct device, computed by differences.
Outcome outcome_of(const Problem& problem, const Network& network) {
  Outcome outcome;
  Ending& whole = outcome.whole;
  whole.before.resize(network.count());
  fill_initial(network, 3, whole.before);
  const std::vector<double> parameters(whole.before.begin(), whole.before.end());
  const Check check(problem, network, 1);
  std::vector<double> gradient(network.count());
  double loss = 0;
  for (std::uint32_t s = 0; s < problem.shards; ++s) {
    const auto points = collocation(problem, s, s + 1, 0);
    const std::vector<double> mine = check.gradient(parameters, points);
    whole.shards.emplace_back(mine.begin(), mine.end());
    for (std::size_t i = 0; i < mine.size(); ++i) gradient[i] += mine[i];
    const double here = check.loss(parameters, points).value;
    whole.losses_of_shards.push_back({static_cast<float>(here), 0, 0});
    loss += here;
  }
  whole.losses = {static_cast<float>(loss), 0, 0};
  const Problem::Step step = problem.adam(0);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    whole.gradient.push_back(static_cast<float>(gradient[i]));
    whole.mean.push_back(static_cast<float>(0.1 * gradient[i]));
    whole.square.push_back(static_cast<float>(0.001 * gradient[i] * gradient[i]));
    whole.parameters.push_back(static_cast<float>(
        parameters[i] - step.rate * whole.mean[i] / (std::sqrt(whole.square[i]) + step.epsilon)));
  }
  outcome.parameters = {whole.parameters, whole.parameters};
  return outcome;
}

}  // namespace

TEST_CASE("pinn: any run of shards is made of nodes that are aligned, in order and largest") {
  CHECK(nodes_of(0, 64) == std::vector<Node>{{0, 6}});
  CHECK(nodes_of(0, 43) == std::vector<Node>{{0, 5}, {32, 3}, {40, 1}, {42, 0}});
  CHECK(nodes_of(5, 5).empty());
  auto chosen = testing::one_in(7);
  for (std::uint64_t begin = 0; begin < 64; ++begin) {
    for (std::uint64_t end = begin; end <= 64; ++end) {
      if (!chosen()) continue;
      std::uint64_t next = begin;
      for (const Node& node : nodes_of(begin, end)) {
        CHECK((node.first == next && node.first % node.shards() == 0));
        next += node.shards();
      }
      CHECK(next == end);
      CHECK(nodes_of(begin, end).size() <= 12);
    }
  }
}

TEST_CASE("pinn: a network is the same in a wider one, and comes back") {
  const Network network{3, 5}, wide{3, 8};
  std::vector<float> parameters(network.count()), there(wide.count()), back(network.count());
  fill_initial(network, 1, parameters);
  parameters.back() = 0.25F;
  widen(network, wide, parameters.data(), there.data());
  narrow(network, wide, there.data(), back.data());
  CHECK(back == parameters);
  const auto value = [](const Network& of, const std::vector<float>& with) {
    const std::vector<double> exact(with.begin(), with.end());
    const Place place{0.3, 0.7};
    double found = 0;
    Evaluation(of, 1).evaluate(exact.data(), {&place, 1}, &found);
    return found;
  };
  CHECK(value(wide, there) == doctest::Approx(value(network, parameters)).epsilon(1e-14));
}

TEST_CASE("pinn: every point belongs to one shard, and new points come when they are asked for") {
  Problem problem = small_problem();
  CHECK(collocation(problem, 0, 4, 0).size() == problem.all_points());
  problem.resample = 3;
  problem.steps = 9;
  const auto x = [&](std::uint32_t step) {
    return collocation(problem, 0, 1, step).front().place.x;
  };
  CHECK(x(0) == x(2));
  CHECK(x(2) != x(3));
}

TEST_CASE("pinn: solutions hold what is known of them") {
  const Solution burgers = solution_of(small_problem(), 1),
                 allen_cahn = solution_of(small_problem(Equation::allen_cahn), 1);
  const auto at = [](const Solution& of, std::size_t row, std::size_t column) {
    return of.values[row * Solution::columns + column];
  };
  CHECK(at(burgers, 0, 150) == doctest::Approx(-std::sin(std::numbers::pi * 0.5)));
  CHECK(at(burgers, 20, 100) == doctest::Approx(0).epsilon(1e-12));  // odd about 0
  // The shock: by Basdevant et al. (Computers and Fluids 14, 1986) the slope at 0 is -152 for this
  // nu, at about t = 0.5.
  CHECK(at(burgers, 20, 99) == doctest::Approx(-at(burgers, 20, 101)).epsilon(1e-9));
  CHECK(at(burgers, 20, 101) < -0.7);
  CHECK(at(burgers, 40, 200) == doctest::Approx(0).epsilon(1e-6));
  CHECK(at(allen_cahn, 0, 100) == doctest::Approx(0));
  CHECK(at(allen_cahn, 40, 200) == doctest::Approx(-1));
  CHECK(relative_error(burgers, burgers) == 0);
  CHECK(relative_error(allen_cahn, burgers) > 0.5);
}

TEST_CASE("pinn: what differences confirm passes, and every kind of mistake is found") {
  for (const Equation equation :
       {Equation::burgers, Equation::allen_cahn, Equation::helmholtz, Equation::poisson}) {
    CAPTURE(name_of(equation));
    const Problem problem = small_problem(equation);
    const Network network{problem.layers, problem.width};
    const Outcome right = outcome_of(problem, network);
    const auto wrong = [&](const auto& change) {
      Outcome changed = right;
      change(changed);
      return Check(problem, network, 1).first_wrong(changed, true, 1);
    };
    CHECK(wrong([](Outcome&) {}) == "");
    const auto with_snapshot = [&](float factor) {
      return wrong([&](Outcome& o) {
        o.whole.snapshots.push_back({problem.steps - 1, o.whole.before});
        for (float& parameter : o.whole.snapshots.back().parameters) parameter *= factor;
      });
    };
    CHECK(with_snapshot(1) == "");
    CHECK(test::has(with_snapshot(1.1F), "kept before it"));
    const std::pair<const char*, void (*)(Outcome&)> mistakes[] = {
        {"different parameters", [](Outcome& o) { o.parameters[1][3] += 1e-6F; }},
        {"gradient by parameter 7", [](Outcome& o) { o.whole.gradient[7] *= 1.001F; }},
        {"loss of the last step", [](Outcome& o) { o.whole.losses[0] *= 1.001F; }},
        {"makes parameter 2",
         [](Outcome& o) {
           o.parameters[0][2] = o.parameters[1][2] = o.whole.parameters[2] += 1e-5F;
         }},
        {"loss of shard 2",
         [](Outcome& o) {
           o.whole.losses[0] += 0.01F * o.whole.losses_of_shards[2][0];
           o.whole.losses_of_shards[2][0] *= 1.01F;
         }},
        {"gradient of shard", [](Outcome& o) {  // two gradients whose sum stays the same
           const float by = 0.1F * std::abs(o.whole.shards[0][4]) + 0.01F;
           o.whole.shards[0][4] += by;
           o.whole.shards[1][4] -= by;
         }}};
    for (const auto& [what, mistake] : mistakes) CHECK(test::has(wrong(mistake), what));
  }
}

namespace {

// Trains by Adam with differences as gradients, until the points' contributions to a gradient
// cancel.
std::vector<double> trained(const Check& check, const Network& network,
                            const std::vector<Collocation>& points, int steps) {
  std::vector<float> initial(network.count());
  fill_initial(network, 3, initial);
  std::vector<double> parameters(initial.begin(), initial.end()), mean(network.count()),
      square(network.count());
  for (int s = 1; s <= steps; ++s) {
    const std::vector<double> gradient = check.gradient(parameters, points);
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      mean[i] = 0.9 * mean[i] + 0.1 * gradient[i];
      square[i] = 0.99 * square[i] + 0.01 * gradient[i] * gradient[i];
      parameters[i] -= 0.02 * (mean[i] / (1 - std::pow(0.9, s))) /
                       (std::sqrt(square[i] / (1 - std::pow(0.99, s))) + 1e-8);
    }
  }
  return parameters;
}

}  // namespace

TEST_CASE("pinn: far into a training, rounding of a gradient passes and what is missing is found") {
  Problem problem = small_problem();
  problem.width = 4;
  problem.points = 12;
  problem.boundary = problem.initial = 3;
  problem.shards = 1;
  const Network network{problem.layers, problem.width};
  const Check check(problem, network, 1);
  const std::vector<Collocation> points = collocation(problem, 0, 1, 0);
  Ending whole;
  for (const double parameter : trained(check, network, points, 300))
    whole.before.push_back(static_cast<float>(parameter));
  const std::vector<double> parameters(whole.before.begin(), whole.before.end());
  std::vector<std::vector<double>> added;  // contributions to the gradient, by point
  std::vector<double> off;                 // relative rounding error, by point
  double loss = 0;
  for (const Collocation& point : points) {
    added.push_back(check.gradient(parameters, {point}));
    const Loss here = check.loss(parameters, {point});
    off.push_back(here.uncertain / here.value / 2);
    loss += here.value;
  }
  whole.losses = {static_cast<float>(loss), 0, 0};
  const auto sum = [&](const auto& factor) {
    std::vector<double> all(network.count());
    for (std::size_t p = 0; p < points.size(); ++p)
      for (std::size_t i = 0; i < all.size(); ++i) all[i] += factor(p) * added[p][i];
    return all;
  };
  const auto length = [](const std::vector<double>& of) {
    double squares = 0;
    for (const double x : of) squares += x * x;
    return std::sqrt(squares);
  };
  const std::vector<double> right = sum([](std::size_t) { return 1.0; });
  double sizes = 0;
  for (const auto& each : added) sizes += length(each);
  CHECK(length(right) < 0.05 * sizes);
  constexpr std::uint64_t directions = 20;
  const auto told = [&](const std::vector<double>& gradient) {
    std::uint64_t found = 0;
    whole.gradient.assign(gradient.begin(), gradient.end());
    for (std::uint64_t seed = 1; seed <= directions; ++seed)
      found += check.wrong_ending(whole, points, seed).empty() ? 0 : 1;
    return found;
  };
  CHECK(told(right) == 0);
  CHECK(told(sum([&](std::size_t p) { return p % 2 == 0 ? 1 + off[p] : 1 - off[p]; })) == 0);
  CHECK(told(sum([](std::size_t) { return 1.1; })) > directions / 2);
  for (std::size_t missing = 0; missing < points.size(); ++missing)
    CHECK(told(sum([&](std::size_t p) { return p == missing ? 0.0 : 1.0; })) > directions / 2);
  CHECK(told(sum([](std::size_t p) { return p == 1 ? 0.9 : 1.0; })) > directions / 2);
}

TEST_CASE("pinn: differences are as exact as the check takes them to be, across a shock") {
  Problem problem = small_problem();
  problem.layers = problem.width = 1;
  const Check check(problem, {problem.layers, problem.width}, 1);
  const double scale =
      2 * problem.diffusion();  // -tanh(x / scale) is stationary: a shock that does not move
  const std::vector<double> shock{1 / scale, 0, 0, -1, 0};
  for (int k = -40; k <= 40; ++k) {
    const Collocation point{Collocation::Kind::domain, {0.1 * k * scale, 0.5}, 0};
    const Loss loss = check.loss(shock, {point});
    CAPTURE(k);
    CHECK(loss.value < 0.2 * loss.uncertain);
  }
}

TEST_CASE("pinn: findings say when an error was reached first, and thin long curves") {
  Problem problem = small_problem(Equation::poisson);
  problem.steps = 5000;
  const Network network{problem.layers, problem.width};
  Ending whole;
  whole.parameters.resize(network.count());
  whole.losses.assign(15000, 0.5F);
  whole.snapshots = {{100, whole.parameters}};
  Solution nothing;  // a network of zeros solves this equation
  nothing.values.assign(Solution::rows * Solution::columns, 1e-30);
  whole.parameters[network.count() - 1] = 1e-30F;
  const Findings found = findings_of(problem, whole, nothing, 1);
  REQUIRE(found.curves.size() == 2);
  CHECK(found.curves[0].rounds.size() == 1000);
  CHECK(found.curves[0].rounds.back() == 5000);
  CHECK(found.curves[1].rounds == std::vector<std::uint32_t>{100, 5000});
  REQUIRE(found.milestones.size() == 3);
  CHECK(found.milestones[0].rounds == 5000);  // at 100 it was 0, which is as wrong as possible
  CHECK(found.warnings.empty());
  whole.losses.back() = 100;
  const auto warns = [&](const char* of) {
    return test::has(findings_of(problem, whole, nothing, 1).warnings.front(), of);
  };
  CHECK((warns("1.5 to 101") && warns("--learning-rate")));
  whole.losses[301] = std::nanf("");
  CHECK(warns("step 101"));
  CHECK(test::has(words_of(problem, found), "1.5 in step 5000"));
}

TEST_CASE("pinn: steps too short to be shared by GPUs are doubted, large networks are not") {
  const auto doubts = [](const char* preset, const char* partition, std::size_t devices,
                         bool cpus) {
    SuiteParams params =
        test::suite_params("pinn", 2540, {{"preset", preset}, {"partition", partition}});
    params.devices = devices;
    params.cpus = cpus;
    return test::suite_named("pinn").optional.caveats(params);
  };
  REQUIRE(doubts("small", "data", 2, false).size() == 1);
  CHECK(test::has(doubts("small", "data", 2, false).front(), "0.051 GFLOP"));
  CHECK(doubts("small", "data", 1, false).empty());
  CHECK(doubts("small", "data", 2, true).empty());
  CHECK(doubts("small", "ensemble", 2, false).empty());
  CHECK(doubts("large", "data", 2, false).empty());
}

TEST_CASE("pinn: parts of a domain cover it, overlap their neighbours and share its points") {
  Problem problem = small_problem();
  problem.partition = Partition::domain;
  problem.parts = 4;
  problem.points = 26;
  for (std::uint64_t p = 0; p < 4; ++p) {
    const Problem part = problem.part(p);
    CHECK(part.first().low == doctest::Approx(p == 0 ? -1 : -1.05 + 0.5 * static_cast<double>(p)));
    CHECK(part.first().high == doctest::Approx(p == 3 ? 1 : -0.45 + 0.5 * static_cast<double>(p)));
    CHECK((part.goes_on_below == (p > 0) && part.goes_on_above == (p < 3)));
    CHECK(part.points == 7);
    CHECK(part.initial == 2);
    CHECK(part.seed == problem.seed + p);
    for (const Collocation& point : collocation(part, 0, part.shards, 0)) {
      CHECK(point.place.x >= static_cast<float>(part.first().low));
      CHECK(point.place.x <= static_cast<float>(part.first().high));
    }
  }
}

TEST_CASE("pinn: bf16 is the nearest number of eight digits in base 2") {
  // By the bits of fp32: half of the last digit that is left is added, ties go to even.
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    auto bits = static_cast<std::uint32_t>(random());
    if (i % 4 == 0) bits &= 0xffff8000U;  // ties
    const float value = std::bit_cast<float>(bits);
    if (!std::isfinite(value) || std::abs(value) > 3e38F) continue;
    const std::uint32_t rounded = (bits + 0x7fffU + (bits >> 16 & 1U)) & 0xffff0000U;
    CAPTURE(value);
    CHECK(nearest_bf16(value) == std::bit_cast<float>(rounded));
  }
}

TEST_CASE("pinn: with error feedback nothing is lost for long, in any node of the tree") {
  constexpr std::uint32_t blocks = 8, steps = 400;
  CompressedSum<double> tree(blocks);
  std::mt19937_64 random(7);
  double exact = 0, found = 0, plain = 0;
  for (std::uint32_t s = 0; s < steps; ++s) {
    std::vector<double> of(blocks);
    for (double& each : of) {
      each = 1e-3 + 1e-9 * static_cast<double>(random() % 1000);
      exact += each;
      plain += static_cast<double>(nearest_bf16(static_cast<float>(each)));
    }
    found += tree.step([&](std::size_t block) { return of[block]; });
  }
  double left = 0;
  for (const double residual : tree.residuals) left += residual;
  CHECK(found + left == doctest::Approx(exact).epsilon(1e-12));
  CHECK(std::abs(found - exact) < 1e-4);
  CHECK(std::abs(plain - exact) > 10 * std::abs(found - exact));  // without feedback
}

TEST_CASE("pinn: owners send the largest nodes below the root, which cover their blocks") {
  Problem problem;
  problem.shards = 128;
  CHECK(problem.blocks() == 32);
  CHECK(sent_nodes(problem, {0, 128}) == std::vector<Node>{{0, 4}, {16, 4}});
  CHECK(sent_nodes(problem, {0, 64}) == std::vector<Node>{{0, 4}});
  CHECK(sent_nodes(problem, {64, 116}) == std::vector<Node>{{16, 3}, {24, 2}, {28, 0}});
  problem.shards = 4;
  CHECK((problem.blocks() == 4 && problem.shards_of_block() == 1));
  CHECK(wire_of(921) * 2 < 921 * 2 + 32);  // bytes are half, but for three losses and rounding up
}

TEST_CASE("pinn: a gradient in bf16 and its residuals are recomputed, and every mistake is found") {
  Problem problem = small_problem();
  problem.compressed = true;
  problem.shards = 16;
  const std::size_t nodes = 2 * problem.blocks();
  Ending right;
  right.shards.assign(16, std::vector<float>(3));
  right.residuals.before.assign(nodes, std::vector<float>(3));
  right.residuals.after = right.residuals.before;
  right.gradient.resize(3);
  std::mt19937_64 random(3);
  const auto any = [&] { return static_cast<float>(random() % 100000) * 1e-5F - 0.5F; };
  for (std::size_t i = 0; i < 3; ++i) {
    for (auto& shard : right.shards) shard[i] = any();
    for (std::size_t node = 2; node < nodes; ++node)
      right.residuals.before[node][i] = 1e-3F * any();
    // Level by level, from the leaves to the root.
    std::vector<float> sums;
    for (const auto& shard : right.shards) sums.push_back(shard[i]);
    for (std::size_t first = 16; first > 1; first /= 2) {
      for (std::size_t at = 0; at < first; ++at) {
        const float value = sums[at] + right.residuals.before[first + at][i];
        const auto bits = std::bit_cast<std::uint32_t>(value);
        sums[at] = std::bit_cast<float>((bits + 0x7fffU + (bits >> 16 & 1U)) & 0xffff0000U);
        right.residuals.after[first + at][i] = value - sums[at];
      }
      for (std::size_t at = 0; at < first / 2; ++at) sums[at] = sums[2 * at] + sums[2 * at + 1];
    }
    right.gradient[i] = sums.front();
  }
  CHECK(wrong_compression(problem, right) == "");
  CHECK(compression_error(right) > 1e-5);
  CHECK(compression_error(right) < 0.1);
  const auto wrong = [&](const auto& change) {
    Ending changed = right;
    change(changed);
    return wrong_compression(problem, changed);
  };
  CHECK(test::has(wrong([](Ending& e) { e.gradient[1] *= 1.001F; }), "gradient by parameter 1"));
  CHECK(test::has(wrong([](Ending& e) { e.residuals.after[5][2] = 0; }), "in node 5"));
  CHECK_FALSE(wrong([](Ending& e) {
                for (auto& node : e.residuals.before) node[0] = 0;
              }).empty());
  CHECK_FALSE(wrong([](Ending& e) { e.shards[7][0] += 0.01F; }).empty());
}

TEST_CASE("pinn: gradients in bf16 are refused where their residuals would be lost") {
  const auto refused = [](const char* option, const char* value) {
    const SuiteParams params =
        test::suite_params("pinn", 64, {{"gradients", "bf16"}, {option, value}});
    const std::string what = test::thrown_by([&] { problem_of(params); }).what();
    CHECK(test::has(what, option));
    CHECK(test::has(what, "--gradients bf16"));
  };
  refused("checkpoint-rounds", "4");
  refused("partition", "ensemble");
  refused("partition", "domain");
  refused("shards", "1");
}

}  // namespace mgpu::pinn
