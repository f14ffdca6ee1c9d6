#include "suites/pinn/ensemble_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "lib/workload/splitmix64.hpp"
#include "suites/pinn/ensemble_program.hpp"
#include "suites/pinn/findings.hpp"
#include "suites/pinn/state_file.hpp"

namespace mgpu::pinn {
namespace {

// Returns the problem with a single shard: a member returns the sum of its shards' gradients.
Problem in_one_shard(Problem problem) {
  problem.shards = 1;
  return problem;
}

// Orders members by error, smallest first and non-finite errors last.
std::vector<std::size_t> by_error(const std::vector<double>& errors) {
  std::vector<std::size_t> order(errors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return errors[a] < errors[b] || (std::isfinite(errors[a]) && !std::isfinite(errors[b]));
  });
  return order;
}

}  // namespace

Capacity EnsembleWorkload::capacity(const DeviceTraits& device, Mode) const {
  Capacity capacity;
  const std::vector<Way> all = ways(device, problem_, &capacity.reason);
  if (all.empty()) return capacity;
  const TrainerMemory memory = memory_of(problem_, all.front());
  const Bytes parameters = Network{problem_.layers, wide(problem_)}.stride() * sizeof(float);
  const Bytes states = problem_.members * 3 * parameters;
  for (Items members = problem_.members; members > 0; members /= 2) {
    const Bytes ending = members * (5 * parameters + Bytes{problem_.steps} * 12);
    const Bytes all_of_it = memory.shared + memory.each + states + 2 * ending;
    if (std::max({memory.largest, states, ending}) > device.max_allocation ||
        all_of_it > device.usable_memory())
      continue;
    capacity.fits = capacity.pipeline = members;
    capacity.resident = all_of_it;
    return capacity;
  }
  capacity.reason = fmt::format("it has no memory for a network of {} x {} with {} points",
                                problem_.layers, problem_.width, problem_.points);
  return capacity;
}

std::unique_ptr<DeviceProgram> EnsembleWorkload::program(DeviceResources& device, Mode mode,
                                                         const Capacity& capacity) {
  return make_by_way(device.traits(), [&](const Way& way) {
    return std::make_unique<EnsembleProgram>(*this, device, mode, way, capacity.fits);
  });
}

// Checks a member like a single training, with all its points in one shard.
std::string EnsembleWorkload::first_wrong(std::uint64_t member, std::uint64_t seed) {
  const Problem problem = in_one_shard(training(member));
  if (!replayed_.contains(member))
    replayed_[member] = replay(problem, network_, initial(member), host_threads_);
  Outcome outcome;
  outcome.whole = endings_[member];
  if (std::string wrong = wrong_losses(replayed_[member], outcome.whole); !wrong.empty())
    return wrong;
  if (first_without_number(outcome.whole.losses) > 0) return {};
  outcome.whole.shards = {outcome.whole.gradient};
  outcome.whole.losses_of_shards = {{outcome.whole.losses.end() - 3, outcome.whole.losses.end()}};
  outcome.parameters = {outcome.whole.parameters};
  return checks_.try_emplace(member, problem, network_, host_threads_)
      .first->second.first_wrong(outcome, true, seed);
}

const std::vector<double>& EnsembleWorkload::errors() {
  const std::string now = digest();
  if (now == errors_of_) return errors_;
  errors_.clear();
  for (const Ending& member : endings_)
    errors_.push_back(relative_error(
        solution_of_network(problem_, member.parameters, host_threads_), solution()));
  errors_of_ = now;
  return errors_;
}

Findings EnsembleWorkload::findings() {
  Findings findings;
  const std::vector<std::size_t> order = by_error(errors());
  const auto error = [&](std::size_t place) { return errors_[order[place]]; };
  const std::size_t last = order.size() - 1, middle = last / 2;
  const double median =
      order.size() % 2 == 1 ? error(middle) : (error(middle) + error(middle + 1)) / 2;
  findings.figures = {{"relative L2 error, median of the members", median},
                      {"relative L2 error, best member", error(0)},
                      {"relative L2 error, worst member", error(last)},
                      {"seed of the best member", static_cast<double>(training(order[0]).seed)}};
  std::vector<std::pair<std::size_t, const char*>> shown{{0, "loss of the best member"}};
  if (last > 1) shown.push_back({middle, "loss of the median member"});
  if (last > 0) shown.push_back({last, "loss of the worst member"});
  for (const auto& [place, name] : shown)
    findings.curves.push_back(loss_curve(name, endings_[order[place]].losses));
  for (std::uint64_t m = 0; m < endings_.size(); ++m)
    if (const std::uint32_t step = first_without_number(endings_[m].losses); step > 0)
      findings.warnings.push_back(
          fmt::format("the loss of seed {} is no finite number from step {} on: --learning-rate "
                      "{:g} is too high",
                      training(m).seed, step, problem_.rate));
  return findings;
}

Verdict EnsembleWorkload::verify(VerifyLevel level, std::uint64_t seed) {
  using Status = Verdict::Status;
  if (level == VerifyLevel::off) return {};
  if (auto missing = arrivals_.look("members")) return *missing;
  const std::uint64_t count = level == VerifyLevel::full ? problem_.members : 1;
  const std::uint64_t first = splitmix64(seed, 1) % problem_.members;
  const std::string method = fmt::format(
      "losses of the first steps of {} of {} members, loss and gradient in the last one with "
      "differences in fp64 on the "
      "host, Adam's step with fp64",
      count, problem_.members);
  std::string wrong;
  const HostWork work{"members", problem_.members, count == 1 ? "" : "one of them"};
  watched_for(host_watch(), work, count, 1, [&](std::uint64_t i) {
    if (!wrong.empty()) return;
    const std::uint64_t member = (first + i) % problem_.members;
    if (wrong = first_wrong(member, seed); !wrong.empty())
      wrong = fmt::format("seed {}: {}", training(member).seed, wrong);
  });
  if (!wrong.empty()) return {Status::failed, method, wrong};
  const Findings found = findings();
  return {
      Status::passed,
      method + fmt::format("; relative L2 error {:.3g}, {:.3g} to {:.3g}", found.figures[0].value,
                           found.figures[1].value, found.figures[2].value),
      "", found};
}

void EnsembleWorkload::write_result(const std::filesystem::path& file) const {
  std::vector<Solution> found;
  std::vector<double> errors;
  for (const Ending& member : endings_) {
    found.push_back(solution_of_network(problem_, member.parameters, host_threads_));
    errors.push_back(relative_error(found.back(), solution()));
  }
  const std::size_t best = by_error(errors).front();
  write_state_file(file, training(best), state_of(endings_[best]));
  write_solution_file(file, Solution::rows, found[best].values, solution().values);
}

}  // namespace mgpu::pinn
