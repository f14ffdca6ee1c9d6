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

constexpr double step_of_inputs = 5e-4, step_of_parameters = 1e-4;
constexpr double rounding = 1e-5;       // of what a residual is made of, in fp32
constexpr std::size_t evaluations = 9;  // of the network, for all derivatives at a point: of fourth order
constexpr double most_flop = 5e9;       // of a thread: about two seconds

// What an equation wants to be zero, and the sum of the sizes of its terms.
struct Residual {
  double value = 0, size = 0;
};

Residual residual(const Problem& problem, const Place& at, const std::array<double, evaluations>& v) {
  constexpr double h = step_of_inputs, pi = std::numbers::pi;
  const auto first = [&](std::size_t i) { return (8 * (v[i + 1] - v[i]) - (v[i + 3] - v[i + 2])) / (12 * h); };
  const auto second = [&](std::size_t i) { return (16 * (v[i + 1] + v[i]) - (v[i + 3] + v[i + 2]) - 30 * v[0]) / (12 * h * h); };
  const double u = v[0];
  if (problem.in_time()) {
    const double u_t = first(5), u_xx = problem.diffusion() * second(1);
    const double other = problem.equation == Equation::burgers ? u * first(1) : 5 * (u * u * u - u);
    return {u_t + other - u_xx, std::abs(u_t) + std::abs(other) + std::abs(u_xx)};
  }
  const bool helmholtz = problem.equation == Equation::helmholtz;
  const double sines = std::sin(pi * at.x) * std::sin((helmholtz ? 4 : 1) * pi * at.y);
  const double f = helmholtz ? (1 - 17 * pi * pi) * sines : -2 * pi * pi * sines, u_xx = second(1), u_yy = second(5);
  return {u_xx + u_yy + problem.wave() * u - f, std::abs(u_xx) + std::abs(u_yy) + std::abs(f)};
}

Residual error_at(const Problem& problem, const Collocation& point, const double* parameters, Evaluation& evaluation) {
  std::array<double, evaluations> values{};
  if (point.kind != Collocation::Kind::domain) {
    evaluation.evaluate(parameters, {&point.place, 1}, values.data());
    return {values[0] - point.value, std::abs(values[0])};
  }
  constexpr double h = step_of_inputs;
  const auto [x, y] = point.place;
  const std::array<Place, evaluations> places{
      {{x, y}, {x - h, y}, {x + h, y}, {x - 2 * h, y}, {x + 2 * h, y}, {x, y - h}, {x, y + h}, {x, y - 2 * h}, {x, y + 2 * h}}};
  evaluation.evaluate(parameters, places, values.data());
  for (std::size_t i = 0; i < evaluations; ++i) values[i] = constrained(problem, places[i], values[i]);
  return residual(problem, point.place, values);
}

std::vector<double> widened(std::span<const float> values) { return {values.begin(), values.end()}; }

double flop_of(const Network& network, std::size_t points) {
  return 2.0 * static_cast<double>(network.count()) * evaluations * static_cast<double>(points);
}

}  // namespace

Check::Check(const Problem& problem, const Network& network, unsigned threads)
    : problem_(problem), network_(network), threads_(threads) {}

Loss Check::loss(const std::vector<double>& parameters, const std::vector<Collocation>& points) const {
  constexpr std::size_t each = 16;
  const std::size_t parts = (points.size() + each - 1) / each;
  std::vector<Loss> partial(parts);
  const std::array<double, 4> weights = problem_.weights();
  parallel_for(parts, threads_, [&](std::uint64_t part) {
    Evaluation evaluation(network_, evaluations);
    for (std::size_t i = part * each; i < std::min(points.size(), (part + 1) * each); ++i) {
      const Residual r = error_at(problem_, points[i], parameters.data(), evaluation);
      const double weight = weights[static_cast<std::size_t>(points[i].kind)], off = rounding * (1 + r.size);
      partial[part].value += weight * r.value * r.value;
      partial[part].uncertain += weight * (2 * std::abs(r.value) * off + off * off);
    }
  });
  Loss sum;
  for (const Loss& each_part : partial) {
    sum.value += each_part.value;
    sum.uncertain += each_part.uncertain;
  }
  return sum;
}

std::vector<double> Check::gradient(const std::vector<double>& parameters, const std::vector<Collocation>& points) const {
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
  const auto differs = [](double sum, double size, float found) { return !(std::abs(found - sum) <= 1e-5 * size + 1e-30); };
  for (std::uint64_t i = 0; i < network_.count(); ++i) {
    double sum = 0, size = 0;
    for (const auto& shard : whole.shards) {
      sum += shard[i];
      size += std::abs(shard[i]);
    }
    if (differs(sum, size, whole.gradient[i]))
      return fmt::format("the gradient by parameter {} is {}, while those of all shards sum to {}", i, whole.gradient[i], sum);
  }
  for (std::size_t kind = 0; kind < 3; ++kind) {
    double sum = 0;
    for (const auto& losses : whole.losses_of_shards) sum += losses[kind];
    const float found = whole.losses[whole.losses.size() - 3 + kind];
    if (differs(sum, sum, found))
      return fmt::format("a loss of the last step is {}, while those of all shards sum to {}", found, sum);
  }
  return {};
}

// What Adam makes of the moments in the last step.
std::string Check::wrong_step(const Ending& whole) const {
  const double done = static_cast<double>(problem_.steps_done) + problem_.steps;
  const double rate = problem_.rate * std::pow(problem_.decay, (done - 1) / problem_.decay_steps);
  for (std::uint64_t i = 0; i < network_.count(); ++i) {
    const double mean = whole.mean[i] / (1 - std::pow(0.9, done)), square = whole.square[i] / (1 - std::pow(0.999, done));
    const double by = rate * mean / (std::sqrt(square) + 1e-8), expected = whole.before[i] - by;
    if (std::abs(whole.parameters[i] - expected) <= 1e-3 * std::abs(by) + 2e-7 * std::abs(expected) + 1e-12) continue;
    return fmt::format("the last step makes parameter {} {} instead of {}", i, whole.parameters[i], expected);
  }
  return {};
}

// Its loss, and its gradient along a direction in which every parameter goes up or down.
std::string Check::wrong_shard(const Outcome& outcome, std::uint64_t shard, std::uint64_t seed) const {
  const std::vector<Collocation> points = collocation(problem_, shard, shard + 1, problem_.steps - 1);
  const std::vector<double> parameters = widened(outcome.whole.before);
  const auto& losses = outcome.whole.losses_of_shards[shard];
  const double found = static_cast<double>(losses[0]) + losses[1] + losses[2];
  const Loss expected = loss(parameters, points);
  if (!(std::abs(found - expected.value) <= expected.uncertain))
    return fmt::format("the loss of shard {} in the last step is {} instead of {}", shard, found, expected.value);

  std::vector<double> up = parameters, down = parameters;
  double along = 0, squares = 0;
  for (std::uint64_t i = 0; i < parameters.size(); ++i) {
    const double sign = splitmix64(seed, i) >> 63 != 0 ? 1 : -1, g = outcome.whole.shards[shard][i];
    up[i] += sign * step_of_parameters;
    down[i] -= sign * step_of_parameters;
    along += sign * g;
    squares += g * g;
  }
  const Loss above = loss(up, points), below = loss(down, points);
  const double slope = (above.value - below.value) / (2 * step_of_parameters);
  // The gradient is as uncertain as the loss is, relatively.
  const double uncertain = (1e-3 + expected.uncertain / expected.value) * (std::sqrt(squares) + std::abs(slope));
  if (std::abs(slope - along) <= uncertain) return {};
  return fmt::format("the gradient of shard {} is {} along a direction in which the loss grows by {}", shard, along, slope);
}

std::string Check::first_wrong(const Outcome& outcome, bool full, std::uint64_t seed) {
  const Ending& whole = outcome.whole;
  for (const auto& parameters : outcome.parameters)
    if (parameters != whole.parameters) return "devices end with different parameters";
  if (std::string wrong = wrong_sums(outcome); !wrong.empty()) return wrong;
  if (std::string wrong = wrong_step(whole); !wrong.empty()) return wrong;
  const double each = 3 * flop_of(network_, places_of_shard(problem_));
  const auto affordable = static_cast<std::uint64_t>(most_flop * threads_ / each);
  const std::uint64_t some = full ? problem_.shards : std::min<std::uint64_t>(problem_.shards, 2);
  const std::uint64_t count = std::clamp<std::uint64_t>(affordable, 1, some), first = splitmix64(seed, 0) % problem_.shards;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t shard = (first + i * (problem_.shards / count)) % problem_.shards;
    if (std::string wrong = wrong_shard(outcome, shard, seed); !wrong.empty()) return wrong;
  }
  method_ = fmt::format(
      "loss and gradient of {} of {} shards in the last step with differences in fp64 on the host, their sums and "
      "Adam's step with fp64",
      count, problem_.shards);
  return {};
}

std::vector<Loss> replay(const Problem& problem, const Network& network, std::span<const float> state, unsigned threads) {
  const Check check(problem, network, threads);
  const double evaluation = flop_of(network, problem.all_points()), step = 2 * evaluation * static_cast<double>(network.count());
  const double afford = most_flop * threads / 10;
  std::vector<Loss> losses;
  if (evaluation > most_flop * threads) return losses;
  const std::uint64_t count = network.count();
  std::vector<double> parameters = widened(state.first(count)), mean = widened(state.subspan(count, count)),
                      square = widened(state.subspan(2 * count, count));
  const auto steps = std::min<std::uint64_t>(problem.steps - 1, static_cast<std::uint64_t>(afford / step));
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
      parameters[i] -=
          rate * mean[i] / (1 - std::pow(0.9, done + 1)) / (std::sqrt(square[i] / (1 - std::pow(0.999, done + 1))) + 1e-8);
    }
  }
}

}  // namespace mgpu::pinn
