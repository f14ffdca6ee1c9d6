#include "suites/pinn/domain_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/workload/splitmix64.hpp"
#include "suites/pinn/domain_program.hpp"
#include "suites/pinn/findings.hpp"
#include "suites/pinn/state_file.hpp"

namespace mgpu::pinn {

Capacity DomainWorkload::capacity(const DeviceTraits& device, Mode) const {
  Capacity capacity;
  const Problem each = training(0);
  const std::vector<Way> all = ways(device, each, &capacity.reason);
  if (all.empty()) return capacity;
  const TrainerMemory memory = memory_of(each, all.front());
  const Bytes parameters = Network{each.layers, wide(each)}.stride() * sizeof(float),
              states = problem_.parts * 3 * parameters;
  for (Items parts = problem_.parts; parts > 0; --parts) {
    const Bytes endings = parts * (5 * parameters + Bytes{problem_.steps} * 12);
    const Bytes all_of_it =
        memory.shared + parts * memory.each + states + endings + 3 * all_values() * sizeof(float);
    if (std::max({memory.largest, states, endings}) > device.max_allocation ||
        all_of_it > device.usable_memory())
      continue;
    capacity.fits = capacity.pipeline = parts;
    capacity.resident = all_of_it;
    return capacity;
  }
  capacity.reason = fmt::format("it has no memory for a part of {} points and a network of {} x {}",
                                each.points, each.layers, each.width);
  return capacity;
}

std::unique_ptr<DeviceProgram> DomainWorkload::program(DeviceResources& device, Mode mode,
                                                       const Capacity& capacity) {
  return make_by_way(device.traits(), [&](const Way& way) {
    return std::make_unique<DomainProgram>(*this, device, mode, way, capacity.fits);
  });
}

// Returns the points of a part, with the neighbours' values at its ends, in the first step or
// before the last one.
std::vector<Collocation> DomainWorkload::points_of(std::uint64_t part, std::uint32_t step,
                                                   bool last) const {
  const Problem problem = problem_.part(part);
  std::vector<Collocation> points = collocation(problem, 0, problem.shards, step);
  const auto take = [&](double x, std::uint64_t other) {
    const auto of = last ? std::span<const float>(endings_[other].before)
                         : initial(other).first(network_.count());
    const std::vector<double> parameters = widened(of);
    Evaluation evaluation(network_, 1);
    for (Collocation& point : points)
      if (point.kind == Collocation::Kind::boundary && point.place.x == x)
        evaluation.evaluate(parameters.data(), {&point.place, 1}, &point.value);
  };
  if (problem.goes_on_below) take(static_cast<float>(problem.first().low), part - 1);
  if (problem.goes_on_above) take(static_cast<float>(problem.first().high), part + 1);
  return points;
}

// Checks a part's loss in the first and last step, the gradient of the last step, and Adam's last
// step. Returns the first error, or nothing.
std::string DomainWorkload::first_wrong(std::uint64_t part, std::uint64_t seed) const {
  const Ending& found = endings_[part];
  const Check check(problem_.part(part), network_, host_threads_);
  const std::vector<Loss> first{
      check.loss(widened(initial(part).first(network_.count())), points_of(part, 0, false))};
  if (std::string wrong = wrong_losses(first, found); !wrong.empty()) return wrong;
  if (first_without_number(found.losses) > 0) return {};
  if (std::string wrong = check.wrong_step(found); !wrong.empty()) return wrong;
  return check.wrong_ending(found, points_of(part, problem_.steps - 1, true), seed);
}

Solution DomainWorkload::found() const {
  Solution whole;
  whole.values.resize(Solution::rows * Solution::columns);
  for (std::uint64_t p = 0; p < problem_.parts; ++p) {
    const Solution one = solution_of_network(problem_, endings_[p].parameters, host_threads_);
    for (std::size_t i = 0; i < whole.values.size(); ++i)
      if (std::min<std::uint64_t>(i % Solution::columns * problem_.parts / (Solution::columns - 1),
                                  problem_.parts - 1) == p)
        whole.values[i] = one.values[i];
  }
  return whole;
}

// Returns the greatest difference between neighbouring networks on the lines where found() switches
// from one to the other.
double DomainWorkload::greatest_step() const {
  constexpr std::size_t places = 101;
  const Range x = problem_.whole(), y = problem_.second();
  double greatest = 0;
  for (std::uint64_t p = 1; p < problem_.parts; ++p) {
    std::vector<Place> line;
    for (std::size_t i = 0; i < places; ++i)
      line.push_back({x.low + (x.high - x.low) * static_cast<double>(p) / problem_.parts,
                      y.low + (y.high - y.low) * static_cast<double>(i) / (places - 1)});
    std::vector<double> below(places), above(places);
    Evaluation(network_, places)
        .evaluate(widened(endings_[p - 1].parameters).data(), line, below.data());
    Evaluation(network_, places)
        .evaluate(widened(endings_[p].parameters).data(), line, above.data());
    for (std::size_t i = 0; i < places; ++i)
      greatest = std::max(greatest, std::abs(below[i] - above[i]));
  }
  return greatest;
}

Findings DomainWorkload::findings() {
  Findings findings;
  std::vector<float> losses(3 * std::size_t{problem_.steps});  // sum over all parts
  for (const Ending& part : endings_)
    for (std::size_t i = 0; i < losses.size(); ++i) losses[i] += part.losses[i];
  const float* const last = losses.data() + losses.size() - 3;
  findings.figures = {{"relative L2 error", relative_error(found(), solution())},
                      {"greatest step between parts", greatest_step()},
                      {"loss of the equation, of all parts", last[0]},
                      {"loss on the boundary and at ends of parts", last[1]},
                      {"loss of the initial state, of all parts", last[2]}};
  findings.curves.push_back(loss_curve("loss, of all parts", losses));
  if (const std::uint32_t step = first_without_number(losses); step > 0)
    findings.warnings.push_back(fmt::format(
        "the loss is no finite number from step {} on: --learning-rate {:g} is too high", step,
        problem_.rate));
  return findings;
}

Verdict DomainWorkload::verify(VerifyLevel level, std::uint64_t seed) {
  using Status = Verdict::Status;
  if (level == VerifyLevel::off) return {};
  if (auto missing = arrivals_.look("parts")) return *missing;
  const std::uint64_t count = level == VerifyLevel::full ? problem_.parts : 1;
  const std::uint64_t chosen = splitmix64(seed, 2) % problem_.parts;
  const std::string method = fmt::format(
      "{} networks for as many parts of the domain, another problem than that of one network; of "
      "{}: losses of the first "
      "and last step and the gradient of that with differences in fp64 on the host, Adam's step "
      "with fp64",
      problem_.parts, count);
  std::string wrong;
  const HostWork work{"parts of the domain", problem_.parts, count == 1 ? "" : "one of them"};
  watched_for(host_watch(), work, count, 1, [&](std::uint64_t i) {
    if (!wrong.empty()) return;
    const std::uint64_t part = (chosen + i) % problem_.parts;
    if (wrong = first_wrong(part, seed); !wrong.empty())
      wrong = fmt::format("part {}: {}", part, wrong);
  });
  if (!wrong.empty()) return {Status::failed, method, wrong};
  const Findings findings = this->findings();
  return {Status::passed,
          method + fmt::format("; relative L2 error {:.3g}, steps of up to {:.3g} between parts",
                               findings.figures[0].value, findings.figures[1].value),
          "", findings};
}

// Writes the states of all networks one after another, each as for a single training, and one grid
// of the whole domain.
void DomainWorkload::write_result(const std::filesystem::path& file) const {
  std::vector<std::vector<float>> states;
  for (const Ending& part : endings_) states.push_back(state_of(part));
  write_state_files(file, problem_, states);
  write_solution_file(file, Solution::rows, found().values, solution().values);
}

}  // namespace mgpu::pinn
