#include "suites/pinn/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <tuple>

#include "lib/workload/parallel_for.hpp"
#include "lib/workload/splitmix64.hpp"
#include "suites/pinn/compressed.hpp"

namespace mgpu::pinn {
namespace {

// Steps of the finite differences. Across Burgers' shock, tanh(x / 0.0064), residuals by
// differences of fourth order have errors of up to 0.0015 with steps of 5e-4, which is above the
// assumed rounding and a third of the residual after a long training. With steps of 2e-4 they are
// 4e-5. Smaller steps would lose accuracy to rounding.
constexpr double step_of_inputs = 2e-4, step_of_parameters = 1e-4;
constexpr double rounding = 1e-5;  // relative fp32 error of a residual's terms
// Evaluations of the network for all derivatives of fourth order at a point.
constexpr std::size_t evaluations = 9;
constexpr double most_flop = 4e9;  // FLOP per thread: a second
// Most threads to rely on: a container may use only some of the machine's.
constexpr unsigned most_threads = 16;

// Residual of an equation, and the sum of the absolute values of its terms.
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

// Adds the places at which the network is evaluated for a point: the point itself, and those around
// it for the derivatives.
std::size_t add_places(const Collocation& point, std::vector<Place>& places) {
  const auto [x, y] = point.place;
  places.push_back({x, y});
  if (point.kind != Collocation::Kind::domain) return 1;
  constexpr double h = step_of_inputs;
  for (const double far : {h, 2 * h}) places.insert(places.end(), {{x - far, y}, {x + far, y}});
  for (const double far : {h, 2 * h}) places.insert(places.end(), {{x, y - far}, {x, y + far}});
  return evaluations;
}

// Returns the error of a point, given the network's values at its places.
Residual error_at(const Problem& problem, const Collocation& point, std::span<const Place> places,
                  std::span<const double> found) {
  if (point.kind != Collocation::Kind::domain) return {found[0] - point.value, std::abs(found[0])};
  std::array<double, evaluations> values{};
  for (std::size_t i = 0; i < evaluations; ++i)
    values[i] = constrained(problem, places[i], found[i]);
  return residual(problem, point.place, values);
}

// Computes the loss of each of a few points, evaluating all their places at once.
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

// Compares the sums of the tree with sums in fp64.
std::string Check::wrong_sums(const Outcome& outcome) const {
  const Ending& whole = outcome.whole;
  const auto differs = [](double sum, double size, float found) {
    return !(std::abs(found - sum) <= 1e-5 * size + 1e-30);
  };
  if (problem_.compressed)
    if (std::string wrong = wrong_compression(problem_, whole); !wrong.empty()) return wrong;
  for (std::uint64_t i = 0; i < network_.count() && !problem_.compressed; ++i) {
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

// Checks Adam's update in the last step, given the moments.
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

// Evaluates the points of all groups at once, since a shard has too few for all threads.
std::vector<Check::Expected> Check::expected_at(const Ending& whole, const Groups& groups,
                                                std::uint64_t seed) const {
  const std::vector<double> parameters = widened(whole.before);
  std::vector<double> up = parameters, down = parameters;
  for (std::uint64_t i = 0; i < parameters.size(); ++i) {
    up[i] += sign(seed, i) * step_of_parameters;
    down[i] -= sign(seed, i) * step_of_parameters;
  }
  std::vector<Collocation> points;
  for (const auto& group : groups) points.insert(points.end(), group.begin(), group.end());
  const std::vector<Loss> here = losses(parameters, points), above = losses(up, points),
                          below = losses(down, points);
  std::vector<Expected> all;
  std::size_t i = 0;
  for (const auto& group : groups) {
    Expected& expected = all.emplace_back();
    for (const std::size_t end = i + group.size(); i < end; ++i) {
      const double slope = (above[i].value - below[i].value) / (2 * step_of_parameters);
      expected.loss.value += here[i].value;
      expected.loss.uncertain += here[i].uncertain;
      expected.slope += slope;
      expected.slopes += std::abs(slope);
    }
  }
  return all;
}

// Compares a loss, given in three parts, and its gradient along a direction that raises or lowers
// every parameter.
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
  // A point's contribution to the gradient has the same relative uncertainty as its contribution to
  // the loss. Late in a training, contributions of both signs nearly cancel out, so the uncertainty
  // exceeds that of their sum.
  const double uncertain =
      1e-3 * (std::sqrt(squares) + std::abs(known.slope)) +
      known.loss.uncertain / known.loss.value * (std::sqrt(squares) + known.slopes);
  if (std::abs(known.slope - along) <= uncertain) return {};
  return fmt::format("the gradient{} is {} along a direction in which the loss grows by {}", what,
                     along, known.slope);
}

std::string Check::wrong_shard(const Ending& whole, const std::vector<std::uint64_t>& shards,
                               std::uint64_t seed) {
  if (std::tie(expected_of_, expected_shards_, expected_seed_) !=
      std::tie(whole.before, shards, seed)) {
    Groups groups;
    for (const std::uint64_t shard : shards)
      groups.push_back(collocation(problem_, shard, shard + 1, problem_.steps - 1));
    expected_ = expected_at(whole, groups, seed);
    std::tie(expected_of_, expected_shards_, expected_seed_) = std::tie(whole.before, shards, seed);
  }
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::uint64_t shard = shards[i];
    if (std::string wrong =
            differs(fmt::format(" of shard {}", shard), expected_[i],
                    whole.losses_of_shards[shard].data(), whole.shards[shard], seed);
        !wrong.empty())
      return wrong;
  }
  return {};
}

std::string Check::wrong_ending(const Ending& whole, const std::vector<Collocation>& points,
                                std::uint64_t seed) const {
  return differs("", expected_at(whole, {points}, seed).front(),
                 whole.losses.data() + whole.losses.size() - 3, whole.gradient, seed);
}

// Compares the losses of evenly spread snapshots' parameters with those of the next step.
std::string Check::wrong_snapshot(const Ending& whole, std::uint64_t count,
                                  std::uint64_t seed) const {
  const std::size_t all = whole.snapshots.size();
  for (std::uint64_t i = 0, first = splitmix64(seed, 1); i < count; ++i) {
    const auto& [steps, parameters] = whole.snapshots[(first % all + i * (all / count)) % all];
    const float* const losses = whole.losses.data() + 3 * std::size_t{steps};
    const double found = static_cast<double>(losses[0]) + losses[1] + losses[2];
    const Loss known = loss(widened(parameters), collocation(problem_, 0, problem_.shards, steps));
    if (!(std::abs(found - known.value) <= known.uncertain))
      return fmt::format("the loss of step {} is {}, that of the parameters kept before it {}",
                         steps + 1, found, known.value);
  }
  return {};
}

// Returns how many parts of `flop` take half of the affordable time, from one to `most`.
std::uint64_t Check::affordable_parts(double flop, std::uint64_t most) const {
  return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(affordable_flop(threads_) / 2 / flop),
                                   1, most);
}

std::string Check::first_wrong(const Outcome& outcome, bool full, std::uint64_t seed) {
  const Ending& whole = outcome.whole;
  for (const auto& parameters : outcome.parameters)
    if (parameters != whole.parameters) return "devices end with different parameters";
  if (std::string wrong = wrong_sums(outcome); !wrong.empty()) return wrong;
  if (std::string wrong = wrong_step(whole); !wrong.empty()) return wrong;
  const double of_snapshot = flop_of(network_, problem_.all_points());
  const std::uint64_t snapshots =
      whole.snapshots.empty() || of_snapshot > affordable_flop(threads_)
          ? 0
          : affordable_parts(of_snapshot, full ? whole.snapshots.size() : 1);
  if (std::string wrong = wrong_snapshot(whole, snapshots, seed); !wrong.empty()) return wrong;
  const std::uint64_t some = full ? problem_.shards : std::min<std::uint64_t>(problem_.shards, 2);
  const std::uint64_t count =
                          affordable_parts(3 * flop_of(network_, places_of_shard(problem_)), some),
                      first = splitmix64(seed, 0) % problem_.shards;
  std::vector<std::uint64_t> shards;
  for (std::uint64_t i = 0; i < count; ++i)
    shards.push_back((first + i * (problem_.shards / count)) % problem_.shards);
  if (std::string wrong = wrong_shard(whole, shards, seed); !wrong.empty()) return wrong;
  method_ = fmt::format(
      "loss and gradient of {} of {} shards in the last step with differences in fp64 on the host, "
      "their sums and "
      "Adam's step with fp64",
      count, problem_.shards);
  if (snapshots > 0)
    method_ += fmt::format("; losses of {} of {} snapshots", snapshots, whole.snapshots.size());
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
  std::vector<CompressedSum<double>> trees(problem.compressed ? count : 0,
                                           CompressedSum<double>(problem.blocks()));
  // Returns the gradient of all points; with --gradients bf16, that which devices get.
  const auto gradient_of = [&](const std::vector<Collocation>& points, std::uint32_t s) {
    if (!problem.compressed) return check.gradient(parameters, points);
    std::vector<std::vector<double>> blocks;
    const std::uint32_t each = problem.shards_of_block();
    for (std::uint32_t b = 0; b < problem.blocks(); ++b)
      blocks.push_back(
          check.gradient(parameters, collocation(problem, b * each, (b + 1) * each, s)));
    std::vector<double> gradient(count);
    for (std::uint64_t i = 0; i < count; ++i)
      gradient[i] = trees[i].step([&](std::size_t block) { return blocks[block][i]; });
    return gradient;
  };
  const auto steps =
      std::min<std::uint64_t>(problem.steps - 1, static_cast<std::uint64_t>(afford / 10 / step));
  for (std::uint32_t s = 0;; ++s) {
    const std::vector<Collocation> points = collocation(problem, 0, problem.shards, s);
    losses.push_back(check.loss(parameters, points));
    if (s >= std::min<std::uint64_t>(steps, 5)) return losses;
    const std::vector<double> gradient = gradient_of(points, s);
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
