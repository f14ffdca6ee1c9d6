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
    : problem_(problem_of(params)),
      network_{problem_.layers, problem_.width},
      shape_(shape_of(problem_)),
      host_threads_(params.host_threads),
      check_(problem_, network_, host_threads_),
      initial_(3 * network_.count()),
      checkpoints_(problem_.shards, problem_.checkpoint_rounds) {
  if (params.input) {
    read_state_file(*params.input, problem_, initial_);
  } else {
    fill_initial(network_, problem_.seed, std::span(initial_).first(network_.count()));
  }
}

Demand PinnWorkload::demand(const DeviceTraits&) const {
  Demand demand;
  demand.fp32 = problem_.flop_per_point() * static_cast<double>(problem_.points) * problem_.steps;
  return demand;
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
    if (largest > device.max_allocation || memory > device.global_memory / 10 * 9) continue;
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
  return std::make_unique<TrainingProgram>(
      *this, device, mode,
      named_or_first(ways(device.traits(), problem_), &Way::name, preferred(device.traits())),
      capacity.fits);
}

void PinnWorkload::connect(PeerGroup& group) {
  for (auto& sums : sums_) sums = group.allocate(problem_.shards * exchanged_bytes());
}

void PinnWorkload::disconnect() {
  for (auto& sums : sums_) sums.reset();
}

void PinnWorkload::set_partition(std::span<const Owner> owners) {
  owners_.assign(owners.begin(), owners.end());
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

bool PinnWorkload::shares(const Slice& shards) const {
  return owners_.size() > 1 && std::any_of(owners_.begin(), owners_.end(), [&](const Owner& owner) {
           return owner.items == shards;
         });
}

void PinnWorkload::begin_sample() {
  checkpoints_.begin_sample();
  restart();
}

void PinnWorkload::restart() {
  checkpoints_.forget_incomplete();
  begun_from_ = checkpoints_.complete();
  ++sample_;
  outcome_ = {};
  outcome_.arrived.assign(problem_.shards, false);
  outcome_.whole.shards.resize(problem_.shards);
  outcome_.whole.losses_of_shards.resize(problem_.shards);
}

void PinnWorkload::arrived(const Slice& shards, const Ending& ending) {
  const std::scoped_lock lock(mutex_);
  for (std::uint64_t s = shards.begin; s < shards.end; ++s) {
    outcome_.arrived[s] = true;
    outcome_.whole.shards[s] = ending.shards[s - shards.begin];
    outcome_.whole.losses_of_shards[s] = ending.losses_of_shards[s - shards.begin];
  }
  outcome_.parameters.push_back(ending.parameters);
  if (!brings_state(shards)) return;
  Ending& whole = outcome_.whole;
  whole.parameters = ending.parameters;
  whole.before = ending.before;
  whole.mean = ending.mean;
  whole.square = ending.square;
  whole.gradient = ending.gradient;
  whole.losses = ending.losses;
  whole.snapshots = ending.snapshots;
}

std::string PinnWorkload::digest() const { return digest_of({&outcome_.whole, 1}); }

// Errors take a second or two, and are the same for the same parameters.
const Findings& PinnWorkload::found() {
  if (!solution_) solution_ = solution_of(problem_, host_threads_);
  if (!found_ || found_of_ != outcome_.whole.parameters)
    found_ = findings_of(problem_, outcome_.whole, *solution_, host_threads_);
  found_of_ = outcome_.whole.parameters;
  return *found_;
}

Verdict PinnWorkload::verify(VerifyLevel level, std::uint64_t seed) {
  using Status = Verdict::Status;
  if (level == VerifyLevel::off) return {};
  if (const auto missing = std::count(outcome_.arrived.begin(), outcome_.arrived.end(), false);
      missing > 0)
    return {Status::failed, check_.method(),
            fmt::format("{} of {} shards did not arrive on the host", missing, problem_.shards)};
  if (!replayed_) replayed_ = replay(problem_, network_, initial_, host_threads_);
  std::string wrong = wrong_losses(*replayed_, outcome_.whole);
  // Of numbers that are none nothing can be compared but where they come from: the first steps.
  if (wrong.empty() && first_without_number(outcome_.whole.losses) == 0)
    wrong = check_.first_wrong(outcome_, level == VerifyLevel::full, seed);
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
  std::vector<float> state;
  for (const auto* part :
       {&outcome_.whole.parameters, &outcome_.whole.mean, &outcome_.whole.square})
    state.insert(state.end(), part->begin(), part->end());
  write_state_file(file, problem_, state);
  const Solution known = solution_ ? *solution_ : solution_of(problem_, host_threads_);
  write_solution_file(
      file, Solution::rows,
      solution_of_network(problem_, outcome_.whole.parameters, host_threads_).values, known.values);
}

}  // namespace mgpu::pinn
