#include "suites/pinn/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "lib/workload/parallel_for.hpp"
#include "lib/workload/splitmix64.hpp"

namespace mgpu::pinn {
namespace {

// Across Burgers' shock, tanh(x / 0.0064), residuals by differences of fourth order with steps of
// 5e-4 are up to 0.0015 off, more than rounding is taken to be, and a third of what a long training
// leaves of them; with these 4e-5. Smaller ones would lose in rounding.
constexpr double step_of_inputs = 2e-4, step_of_parameters = 1e-4;
constexpr double rounding = 1e-5;  // of what a residual is made of, in fp32
constexpr std::size_t evaluations =
    9;  // of the network, for all derivatives at a point: of fourth order
constexpr double most_flop = 4e9;  // of a thread: half a second
constexpr unsigned most_threads =
    16;  // that are relied on: of those that there are, a container may only use some

// What an equation wants to be zero, and the sum of the sizes of its terms.
struct Residual {
  double value = 0, size = 0;
};

Residual residual(const Problem& problem, const Place& at,
                  const std::array<double, evaluations>& v) {
  constexpr double h = step_of_inputs, pi = std::numbers::pi;
  const auto first = [&](std::size_t i) {
    return (8 * (v[i + 1] - v[i]) - (v[i + 3] - v[i + 2])) / (12 * h);
  };
  const auto second = [&](std::size_t i) {
    return (16 * (v[i + 1] + v[i]) - (v[i + 3] + v[i + 2]) - 30 * v[0]) / (12 * h * h);
  };
  const double u = v[0];
  if (problem.in_time()) {
    const double u_t = first(5), u_xx = problem.diffusion() * second(1);
    const double other = problem.equation == Equation::burgers ? u * first(1) : 5 * (u * u * u - u);
    return {u_t + other - u_xx, std::abs(u_t) + std::abs(other) + std::abs(u_xx)};
  }
  const bool helmholtz = problem.equation == Equation::helmholtz;
  const double sines = std::sin(pi * at.x) * std::sin((helmholtz ? 4 : 1) * pi * at.y);
  const double f = helmholtz ? (1 - 17 * pi * pi) * sines : -2 * pi * pi * sines, u_xx = second(1),
               u_yy = second(5);
  return {u_xx + u_yy + problem.wave() * u - f, std::abs(u_xx) + std::abs(u_yy) + std::abs(f)};
}

// Where the network is evaluated for a point: at it, and around it for the derivatives.
std::size_t add_places(const Collocation& point, std::vector<Place>& places) {
  const auto [x, y] = point.place;
  places.push_back({x, y});
  if (point.kind != Collocation::Kind::domain) return 1;
  constexpr double h = step_of_inputs;
  for (const double far : {h, 2 * h}) places.insert(places.end(), {{x - far, y}, {x + far, y}});
  for (const double far : {h, 2 * h}) places.insert(places.end(), {{x, y - far}, {x, y + far}});
  return evaluations;
}

// Of what the network is at those places.
Residual error_at(const Problem& problem, const Collocation& point, std::span<const Place> places,
                  std::span<const double> found) {
  if (point.kind != Collocation::Kind::domain) return {found[0] - point.value, std::abs(found[0])};
  std::array<double, evaluations> values{};
  for (std::size_t i = 0; i < evaluations; ++i)
    values[i] = constrained(problem, places[i], found[i]);
  return residual(problem, point.place, values);
}

// Of each of a few points, with all their places at once.
void losses_of(const Problem& problem, const double* parameters,
               std::span<const Collocation> points, Evaluation& evaluation,
               std::span<Loss> losses) {
  std::vector<Place> places;
  std::vector<std::size_t> counts;
  for (const Collocation& point : points) counts.push_back(add_places(point, places));
  std::vector<double> values(places.size());
  evaluation.evaluate(parameters, places, values.data());
  const std::array<double, 4> weights = problem.weights();
  for (std::size_t i = 0, at = 0; i < points.size(); at += counts[i++]) {
    const Residual r = error_at(problem, points[i], std::span(places).subspan(at, counts[i]),
                                std::span(values).subspan(at, counts[i]));
    const double weight = weights[static_cast<std::size_t>(points[i].kind)],
                 off = rounding * (1 + r.size);
    losses[i] = {weight * r.value * r.value, weight * (2 * std::abs(r.value) * off + off * off)};
  }
}

double sign(std::uint64_t seed, std::uint64_t parameter) {
  return splitmix64(seed, parameter) >> 63 != 0 ? 1 : -1;
}

double affordable_flop(unsigned threads) { return most_flop * std::min(threads, most_threads); }

double flop_of(const Network& network, std::size_t points) {
  return 2.0 * static_cast<double>(network.count()) * evaluations * static_cast<double>(points);
}

}  // namespace

Check::Check(const Problem& problem, const Network& network, unsigned threads)
    : problem_(problem), network_(network), threads_(threads) {}

std::vector<Loss> Check::losses(const std::vector<double>& parameters,
                                const std::vector<Collocation>& points) const {
  constexpr std::size_t each = 16;
  const std::size_t parts = ceil_div(points.size(), each);
  std::vector<Loss> all(points.size());
  parallel_for(parts, threads_, [&](std::uint64_t part) {
    Evaluation evaluation(network_, each * evaluations);
    const std::size_t begin = part * each, count = std::min(each, points.size() - begin);
    losses_of(problem_, parameters.data(), std::span(points).subspan(begin, count), evaluation,
              std::span(all).subspan(begin, count));
  });
  return all;
}

Loss Check::loss(const std::vector<double>& parameters,
                 const std::vector<Collocation>& points) const {
  Loss sum;
  for (const Loss& of_point : losses(parameters, points)) {
    sum.value += of_point.value;
    sum.uncertain += of_point.uncertain;
  }
  return sum;
}

std::vector<double> Check::gradient(const std::vector<double>& parameters,
                                    const std::vector<Collocation>& points) const {
  std::vector<double> gradient(parameters.size());
  Check alone(problem_, network_, 1);
  parallel_for(parameters.size(), threads_, [&](std::uint64_t i) {
    std::vector<double> moved = parameters;
    moved[i] = parameters[i] + step_of_parameters;
    const double above = alone.loss(moved, points).value;
    moved[i] = parameters[i] - step_of_parameters;
    gradient[i] = (above - alone.loss(moved, points).value) / (2 * step_of_parameters);
  });
  return gradient;
}

// The tree against sums in fp64.
std::string Check::wrong_sums(const Outcome& outcome) const {
  const Ending& whole = outcome.whole;
  const auto differs = [](double sum, double size, float found) {
    return !(std::abs(found - sum) <= 1e-5 * size + 1e-30);
  };
  for (std::uint64_t i = 0; i < network_.count(); ++i) {
    double sum = 0, size = 0;
    for (const auto& shard : whole.shards) {
      sum += shard[i];
      size += std::abs(shard[i]);
    }
    if (differs(sum, size, whole.gradient[i]))
      return fmt::format("the gradient by parameter {} is {}, while those of all shards sum to {}",
                         i, whole.gradient[i], sum);
  }
  for (std::size_t kind = 0; kind < 3; ++kind) {
    double sum = 0;
    for (const auto& losses : whole.losses_of_shards) sum += losses[kind];
    const float found = whole.losses[whole.losses.size() - 3 + kind];
    if (differs(sum, sum, found))
      return fmt::format("a loss of the last step is {}, while those of all shards sum to {}",
                         found, sum);
  }
  return {};
}

// What Adam makes of the moments in the last step.
std::string Check::wrong_step(const Ending& whole) const {
  const double done = static_cast<double>(problem_.steps_done) + problem_.steps;
  const double rate = problem_.rate * std::pow(problem_.decay, (done - 1) / problem_.decay_steps);
  for (std::uint64_t i = 0; i < network_.count(); ++i) {
    const double mean = whole.mean[i] / (1 - std::pow(0.9, done)),
                 square = whole.square[i] / (1 - std::pow(0.999, done));
    const double by = rate * mean / (std::sqrt(square) + 1e-8), expected = whole.before[i] - by;
    if (std::abs(whole.parameters[i] - expected) <=
        1e-3 * std::abs(by) + 2e-7 * std::abs(expected) + 1e-12)
      continue;
    return fmt::format("the last step makes parameter {} {} instead of {}", i, whole.parameters[i],
                       expected);
  }
  return {};
}

Check::Expected Check::expected_at(const Ending& whole, const std::vector<Collocation>& points,
                                   std::uint64_t seed) const {
  const std::vector<double> parameters = widened(whole.before);
  std::vector<double> up = parameters, down = parameters;
  for (std::uint64_t i = 0; i < parameters.size(); ++i) {
    up[i] += sign(seed, i) * step_of_parameters;
    down[i] -= sign(seed, i) * step_of_parameters;
  }
  const std::vector<Loss> above = losses(up, points), below = losses(down, points);
  Expected expected{loss(parameters, points)};
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double slope = (above[i].value - below[i].value) / (2 * step_of_parameters);
    expected.slope += slope;
    expected.slopes += std::abs(slope);
  }
  return expected;
}

// Computed once: samples that end with the same parameters are compared with the same numbers.
const Check::Expected& Check::expected(const Ending& whole, std::uint64_t shard,
                                       std::uint64_t seed) {
  if (expected_of_ != whole.before || expected_seed_ != seed) expected_.clear();
  expected_of_ = whole.before;
  expected_seed_ = seed;
  const auto known = expected_.find(shard);
  if (known != expected_.end()) return known->second;
  return expected_[shard] =
             expected_at(whole, collocation(problem_, shard, shard + 1, problem_.steps - 1), seed);
}

// A loss, in three parts, and its gradient along a direction in which every parameter goes up or
// down.
std::string Check::differs(const std::string& what, const Expected& known, const float* losses,
                           std::span<const float> gradient, std::uint64_t seed) const {
  const double found = static_cast<double>(losses[0]) + losses[1] + losses[2];
  if (!(std::abs(found - known.loss.value) <= known.loss.uncertain))
    return fmt::format("the loss{} in the last step is {} instead of {}", what, found,
                       known.loss.value);
  double along = 0, squares = 0;
  for (std::uint64_t i = 0; i < network_.count(); ++i) {
    const double g = gradient[i];
    along += sign(seed, i) * g;
    squares += g * g;
  }
  // What each point adds to the gradient is as uncertain as what it adds to the loss, relatively;
  // where a training has come far, what points add has both signs, and their sum is small.
  const double uncertain =
      1e-3 * (std::sqrt(squares) + std::abs(known.slope)) +
      known.loss.uncertain / known.loss.value * (std::sqrt(squares) + known.slopes);
  if (std::abs(known.slope - along) <= uncertain) return {};
  return fmt::format("the gradient{} is {} along a direction in which the loss grows by {}", what,
                     along, known.slope);
}

std::string Check::wrong_shard(const Outcome& outcome, std::uint64_t shard, std::uint64_t seed) {
  return differs(fmt::format(" of shard {}", shard), expected(outcome.whole, shard, seed),
                 outcome.whole.losses_of_shards[shard].data(), outcome.whole.shards[shard], seed);
}

std::string Check::wrong_ending(const Ending& whole, const std::vector<Collocation>& points,
                                std::uint64_t seed) const {
  return differs("", expected_at(whole, points, seed),
                 whole.losses.data() + whole.losses.size() - 3, whole.gradient, seed);
}

// Compares the loss of parameters that were kept after some steps with what the next step found.
std::string Check::wrong_snapshot(const Ending& whole, bool full, std::uint64_t seed) const {
  const std::size_t count = whole.snapshots.size();
  if (count == 0 || flop_of(network_, problem_.all_points()) > affordable_flop(threads_)) return {};
  const std::size_t chosen = splitmix64(seed, 1) % count;
  for (std::size_t n = full ? 0 : chosen; n < (full ? count : chosen + 1); ++n) {
    const auto& [steps, parameters] = whole.snapshots[n];
    const float* const losses = whole.losses.data() + 3 * std::size_t{steps};
    const double found = static_cast<double>(losses[0]) + losses[1] + losses[2];
    const Loss known = loss(widened(parameters), collocation(problem_, 0, problem_.shards, steps));
    if (!(std::abs(found - known.value) <= known.uncertain))
      return fmt::format("the loss of step {} is {}, that of the parameters kept before it {}",
                         steps + 1, found, known.value);
  }
  return {};
}

std::string Check::first_wrong(const Outcome& outcome, bool full, std::uint64_t seed) {
  const Ending& whole = outcome.whole;
  for (const auto& parameters : outcome.parameters)
    if (parameters != whole.parameters) return "devices end with different parameters";
  if (std::string wrong = wrong_sums(outcome); !wrong.empty()) return wrong;
  if (std::string wrong = wrong_step(whole); !wrong.empty()) return wrong;
  if (std::string wrong = wrong_snapshot(whole, full, seed); !wrong.empty()) return wrong;
  const double each = 3 * flop_of(network_, places_of_shard(problem_));
  const auto affordable = static_cast<std::uint64_t>(affordable_flop(threads_) / each);
  const std::uint64_t some = full ? problem_.shards : std::min<std::uint64_t>(problem_.shards, 2);
  const std::uint64_t count = std::clamp<std::uint64_t>(affordable, 1, some),
                      first = splitmix64(seed, 0) % problem_.shards;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t shard = (first + i * (problem_.shards / count)) % problem_.shards;
    if (std::string wrong = wrong_shard(outcome, shard, seed); !wrong.empty()) return wrong;
  }
  method_ = fmt::format(
      "loss and gradient of {} of {} shards in the last step with differences in fp64 on the host, "
      "their sums and "
      "Adam's step with fp64",
      count, problem_.shards);
  return {};
}

std::vector<Loss> replay(const Problem& problem, const Network& network,
                         std::span<const float> state, unsigned threads) {
  const Check check(problem, network, threads);
  const double evaluation = flop_of(network, problem.all_points()),
               step = 2 * evaluation * static_cast<double>(network.count());
  const double afford = affordable_flop(threads);
  std::vector<Loss> losses;
  if (evaluation > afford) return losses;
  const std::uint64_t count = network.count();
  std::vector<double> parameters = widened(state.first(count)),
                      mean = widened(state.subspan(count, count)),
                      square = widened(state.subspan(2 * count, count));
  const auto steps =
      std::min<std::uint64_t>(problem.steps - 1, static_cast<std::uint64_t>(afford / 10 / step));
  for (std::uint32_t s = 0;; ++s) {
    const std::vector<Collocation> points = collocation(problem, 0, problem.shards, s);
    losses.push_back(check.loss(parameters, points));
    if (s >= std::min<std::uint64_t>(steps, 5)) return losses;
    const std::vector<double> gradient = check.gradient(parameters, points);
    const double done = static_cast<double>(problem.steps_done) + s;
    const double rate = problem.rate * std::pow(problem.decay, done / problem.decay_steps);
    for (std::uint64_t i = 0; i < count; ++i) {
      mean[i] = 0.9 * mean[i] + 0.1 * gradient[i];
      square[i] = 0.999 * square[i] + 0.001 * gradient[i] * gradient[i];
      parameters[i] -= rate * mean[i] / (1 - std::pow(0.9, done + 1)) /
                       (std::sqrt(square[i] / (1 - std::pow(0.999, done + 1))) + 1e-8);
    }
  }
}

std::string wrong_losses(const std::vector<Loss>& expected, const Ending& whole) {
  for (std::size_t step = 0; step < expected.size(); ++step) {
    const float* const losses = whole.losses.data() + 3 * step;
    const double found = static_cast<double>(losses[0]) + losses[1] + losses[2];
    const double allowed =
        expected[step].uncertain + 1e-4 * static_cast<double>(step) * expected[step].value;
    if (!(std::abs(found - expected[step].value) <= allowed))
      return fmt::format("the loss of step {} is {} instead of {}", step + 1, found,
                         expected[step].value);
  }
  return {};
}

}  // namespace mgpu::pinn
