#include "suites/pinn/pinn_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/base/error.hpp"
#include "suites/pinn/findings.hpp"
#include "suites/pinn/state_file.hpp"
#include "suites/pinn/training_program.hpp"

namespace mgpu::pinn {

PinnWorkload::PinnWorkload(const SuiteParams& params)
    : NetworksWorkload(params), check_(problem_, network_, host_threads_) {
  if (params.input) read_state_file(*params.input, problem_, initial_);
}

Capacity PinnWorkload::capacity(const DeviceTraits& device, Mode) const {
  Capacity capacity;
  const std::vector<Way> all = ways(device, problem_, &capacity.reason);
  if (all.empty()) return capacity;
  const std::uint64_t stride = Network{problem_.layers, wide(problem_)}.stride();
  for (Items shards = problem_.shards; shards > 0; --shards) {
    Bytes largest = std::max(jet_bytes(problem_, all.front(), shards),
                             Bytes{problem_.shards} * stride * sizeof(float));
    Bytes memory = 2 * jet_bytes(problem_, all.front(), shards) +
                   all_places(problem_, all.front(), shards) * 36;
    memory +=
        (shards + 3 * Bytes{problem_.shards} + problem_.snapshots + 12) * stride * sizeof(float) +
        Bytes{problem_.steps} * 12;
    if (largest > device.max_allocation || memory > device.usable_memory()) continue;
    capacity.fits = capacity.pipeline = shards;
    capacity.resident = memory;
    return capacity;
  }
  capacity.reason = fmt::format("it has no memory for a shard of {} points of a network of {} x {}",
                                places_of_shard(problem_), problem_.layers, problem_.width);
  return capacity;
}

std::unique_ptr<DeviceProgram> PinnWorkload::program(DeviceResources& device, Mode mode,
                                                     const Capacity& capacity) {
  return std::make_unique<TrainingProgram>(*this, device, mode, way_on(device.traits()),
                                           capacity.fits);
}

void PinnWorkload::connect(PeerGroup& group) {
  sums_.allocate(group, problem_.shards * exchanged_bytes());
}

void PinnWorkload::set_partition(std::span<const Owner> owners) {
  NetworksWorkload::set_partition(owners);
  nodes_.clear();
  for (const Owner& owner : owners) {
    const std::vector<Node> theirs = nodes_of(owner.items.begin, owner.items.end);
    nodes_.insert(nodes_.end(), theirs.begin(), theirs.end());
  }
}

bool PinnWorkload::repartition(std::span<const Owner> owners) {
  set_partition(owners);
  return true;
}

void PinnWorkload::restart() {
  NetworksWorkload::restart();
  parameters_.clear();
  whole().shards.resize(problem_.shards);
  whole().losses_of_shards.resize(problem_.shards);
}

void PinnWorkload::add_share(const Slice& shards, const Ending& ending) {
  arrived(shards);
  const std::scoped_lock lock(mutex_);
  std::vector<std::vector<float>> gradients = std::move(whole().shards),
                                  losses = std::move(whole().losses_of_shards);
  const auto first = static_cast<std::ptrdiff_t>(shards.begin);
  std::copy(ending.shards.begin(), ending.shards.end(), gradients.begin() + first);
  std::copy(ending.losses_of_shards.begin(), ending.losses_of_shards.end(), losses.begin() + first);
  parameters_.push_back(ending.parameters);
  if (brings_state(shards)) whole() = ending;
  whole().shards = std::move(gradients);
  whole().losses_of_shards = std::move(losses);
}

// Returns the findings, and caches them by parameters, since they take a second or two.
const Findings& PinnWorkload::found() {
  if (!found_ || found_of_ != whole().parameters)
    found_ = findings_of(problem_, whole(), solution(), host_threads_);
  found_of_ = whole().parameters;
  return *found_;
}

Verdict PinnWorkload::verify(VerifyLevel level, std::uint64_t seed) {
  using Status = Verdict::Status;
  if (level == VerifyLevel::off) return {};
  if (auto missing = arrivals_.look("shards")) {
    missing->method = check_.method();
    return *missing;
  }
  if (!replayed_) replayed_ = replay(problem_, network_, initial_, host_threads_);
  std::string wrong = wrong_losses(*replayed_, whole());
  // Non-finite numbers cannot be compared; only the first steps, from which they result, can.
  if (wrong.empty() && first_without_number(whole().losses) == 0)
    wrong = check_.first_wrong({whole(), parameters_}, level == VerifyLevel::full, seed);
  if (!wrong.empty()) return {Status::failed, check_.method(), wrong};
  std::string method = check_.method();
  if (!replayed_->empty())
    method += fmt::format("; {} with a training by differences",
                          replayed_->size() == 1
                              ? "loss of the first step"
                              : fmt::format("losses of the first {} steps", replayed_->size()));
  const Findings& findings = found();
  return {Status::passed, method + words_of(problem_, findings), "", findings};
}

void PinnWorkload::write_result(const std::filesystem::path& file) const {
  write_state_file(file, problem_, state_of(whole()));
  write_solution_file(file, Solution::rows,
                      solution_of_network(problem_, whole().parameters, host_threads_).values,
                      solution().values);
}

}  // namespace mgpu::pinn
