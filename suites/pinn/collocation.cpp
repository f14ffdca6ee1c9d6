// Collocation points on the host, from the same random numbers as kernels/pinn_points.cl.
#include <cmath>
#include <numbers>

#include "lib/workload/splitmix64.hpp"
#include "suites/pinn/reference.hpp"

namespace mgpu::pinn {
namespace {

float uniform(std::uint64_t seed, std::uint64_t n) {
  return static_cast<float>(splitmix64(seed, n) >> 40) * 0x1p-24F;
}

double between(Range range, float u) {
  const auto low = static_cast<float>(range.low), high = static_cast<float>(range.high);
  return std::fma(high - low, u, low);
}

Collocation on_boundary(const Problem& problem, std::uint64_t seed, std::uint64_t n) {
  const Range first = problem.first(), second = problem.second();
  const float u = uniform(seed, 2 * n);
  Collocation point{
      Collocation::Kind::boundary, {}, problem.equation == Equation::allen_cahn ? -1.0 : 0.0};
  switch (n % (problem.in_time() ? 2 : 4)) {
    case 0:
      point.place = {static_cast<float>(first.low), between(second, u)};
      break;
    case 1:
      point.place = {static_cast<float>(first.high), between(second, u)};
      break;
    case 2:
      point.place = {between(first, u), second.low};
      break;
    default:
      point.place = {between(first, u), second.high};
  }
  return point;
}

}  // namespace

std::vector<Collocation> collocation(const Problem& problem, std::uint64_t begin, std::uint64_t end,
                                     std::uint32_t step) {
  const std::uint64_t seed = problem.seed_of_points(step);
  std::vector<Collocation> points;
  const auto add = [&](std::uint64_t count, std::uint64_t shard, const auto& make) {
    const PointRange range = points_of_shard(count, problem.shards, shard);
    for (std::uint64_t n = range.begin; n < range.end; ++n) points.push_back(make(n));
  };
  for (std::uint64_t shard = begin; shard < end; ++shard) {
    add(problem.points, shard, [&](std::uint64_t n) {
      return Collocation{Collocation::Kind::domain,
                         {between(problem.first(), uniform(seed, 2 * n)),
                          between(problem.second(), uniform(seed, 2 * n + 1))},
                         0};
    });
    add(problem.boundary, shard,
        [&](std::uint64_t n) { return on_boundary(problem, seed ^ 0x5bd1e995a7c15b73U, n); });
    add(problem.initial, shard, [&](std::uint64_t n) {
      const double x = between(problem.first(), uniform(seed ^ 0x2545f4914f6cdd1dU, 2 * n));
      const double at = problem.equation == Equation::allen_cahn
                            ? x * x * std::cos(std::numbers::pi * x)
                            : -std::sin(std::numbers::pi * x);
      return Collocation{Collocation::Kind::initial, {x, problem.second().low}, at};
    });
  }
  return points;
}

}  // namespace mgpu::pinn
