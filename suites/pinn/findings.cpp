#include "suites/pinn/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mgpu::pinn {
namespace {

constexpr const char* error_name = "relative L2 error";

// Warns if the loss grows because the learning rate is too high.
void warn(const Problem& problem, const Ending& whole, Findings& findings) {
  const auto& losses = findings.curves.front().values;
  const std::string rate = fmt::format("--learning-rate {:g} is too high", problem.rate);
  constexpr double most = 10;
  if (const std::uint32_t step = first_without_number(whole.losses); step > 0)
    findings.warnings.push_back(
        fmt::format("the loss is no finite number from step {} on: {}", step, rate));
  else if (losses.back() > most * losses.front())
    findings.warnings.push_back(fmt::format("the loss grew from {:.3g} to {:.3g}: {}",
                                            losses.front(), losses.back(), rate));
}

}  // namespace

Findings::Curve loss_curve(const char* name, std::span<const float> losses) {
  constexpr std::size_t most = 1000;
  const std::size_t steps = losses.size() / 3, shown = std::min(steps, most);
  Findings::Curve curve{name, {}, {}};
  for (std::size_t i = 0; i < shown; ++i) {
    const std::size_t step = shown == 1 ? 0 : i * (steps - 1) / (shown - 1);
    const float* const of = losses.data() + 3 * step;
    curve.rounds.push_back(u32(step + 1));
    curve.values.push_back(static_cast<double>(of[0]) + of[1] + of[2]);
  }
  return curve;
}

std::uint32_t first_without_number(std::span<const float> losses) {
  const auto found =
      std::find_if(losses.begin(), losses.end(), [](float loss) { return !std::isfinite(loss); });
  return found == losses.end() ? 0
                               : u32(static_cast<std::uint64_t>(found - losses.begin()) / 3 + 1);
}

Findings findings_of(const Problem& problem, const Ending& whole, const Solution& solution,
                     unsigned threads) {
  Findings findings;
  findings.curves.push_back(loss_curve("loss", whole.losses));
  Findings::Curve errors{error_name, {}, {}};
  const auto add = [&](std::uint32_t steps, std::span<const float> parameters) {
    errors.rounds.push_back(steps);
    errors.values.push_back(
        relative_error(solution_of_network(problem, parameters, threads), solution));
  };
  for (const Ending::Snapshot& snapshot : whole.snapshots) add(snapshot.steps, snapshot.parameters);
  add(problem.steps, whole.parameters);
  for (const double least : {1e-1, 1e-2, 1e-3}) {
    const auto reached = std::find_if(errors.values.begin(), errors.values.end(),
                                      [&](double error) { return error <= least; });
    if (reached == errors.values.end()) continue;
    findings.milestones.push_back(
        {fmt::format("{} {:g}", error_name, least),
         errors.rounds[static_cast<std::size_t>(reached - errors.values.begin())],
         {}});
  }
  const float* const last = whole.losses.data() + whole.losses.size() - 3;
  findings.figures = {{error_name, errors.values.back()},
                      {"loss of the equation", last[0]},
                      {"loss on the boundary", last[1]},
                      {"loss of the initial state", last[2]}};
  warn(problem, whole, findings);
  findings.curves.push_back(std::move(errors));
  return findings;
}

std::string words_of(const Problem& problem, const Findings& findings) {
  const Findings::Curve& losses = findings.curves.front();
  std::string words =
      fmt::format("; loss {:.6g} in step 1, {:.6g} in step {}; {} {:.3g}", losses.values.front(),
                  losses.values.back(), problem.steps, error_name, findings.figures.front().value);
  for (const auto& milestone : findings.milestones)
    words += fmt::format(", {} after {} steps", milestone.name, milestone.rounds);
  return words;
}

}  // namespace mgpu::pinn
