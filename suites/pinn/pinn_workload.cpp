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
    if (problem_.compressed) memory += 4 * Bytes{problem_.blocks()} * stride * sizeof(float);
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
  return make_by_way(device.traits(), [&](const Way& way) {
    return std::make_unique<TrainingProgram>(*this, device, mode, way, capacity.fits);
  });
}

void PinnWorkload::connect(PeerGroup& group) {
  sums_.allocate(group,
                 (problem_.compressed ? problem_.blocks() : problem_.shards) * exchanged_bytes());
}

void PinnWorkload::set_partition(std::span<const Owner> owners) {
  NetworksWorkload::set_partition(owners);
  nodes_.clear();
  for (const Owner& owner : owners) {
    const std::vector<Node> theirs = nodes_of_share(owner.items);
    nodes_.insert(nodes_.end(), theirs.begin(), theirs.end());
  }
}

bool PinnWorkload::repartition(std::span<const Owner> owners) {
  if (problem_.compressed) return false;  // residuals stay on the device of their shards
  set_partition(owners);
  return true;
}

void PinnWorkload::restart() {
  NetworksWorkload::restart();
  parameters_.clear();
  loss_.reset();
  whole().shards.resize(problem_.shards);
  whole().losses_of_shards.resize(problem_.shards);
}

void PinnWorkload::add_loss(std::uint32_t steps, double loss) {
  const std::scoped_lock lock(mutex_);
  loss_ = {"loss", loss, steps};
}

std::vector<LiveFigure> PinnWorkload::live_figures() const {
  const std::scoped_lock lock(mutex_);
  return loss_ ? std::vector{*loss_} : std::vector<LiveFigure>{};
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
  Residuals residuals = std::move(whole().residuals);
  if (brings_state(shards)) whole() = ending;
  whole().residuals = std::move(residuals);
  if (problem_.compressed) add_residuals(shards, ending.residuals);
  whole().shards = std::move(gradients);
  whole().losses_of_shards = std::move(losses);
}

void PinnWorkload::add_residuals(const Slice& shards, const Residuals& residuals) {
  const std::uint32_t blocks = problem_.blocks(), each = problem_.shards_of_block();
  Residuals& all = whole().residuals;
  all.before.resize(2 * std::size_t{blocks});
  all.after.resize(all.before.size());
  for (std::uint32_t level = 0; 1U << level < blocks; ++level) {
    for (std::uint32_t at = 0; at < blocks >> level; ++at) {
      const Slice covered{std::uint64_t{at << level} * each,
                          std::uint64_t{(at + 1) << level} * each};
      const auto has = [&](const Slice& share) {
        return share.begin <= covered.begin && covered.end <= share.end;
      };
      // All owners compute nodes of several owners' shards, as the first one does.
      const bool of_none = std::none_of(owners_.begin(), owners_.end(),
                                        [&](const Owner& owner) { return has(owner.items); });
      if (!has(shards) && !(of_none && brings_state(shards))) continue;
      const std::size_t node = (blocks >> level) + at;
      all.before[node] = residuals.before[node];
      all.after[node] = residuals.after[node];
    }
  }
}

// Returns the findings, and caches them by parameters, since they take a second or two.
const Findings& PinnWorkload::found() {
  if (!found_ || found_of_ != whole().parameters)
    found_ = findings_of(problem_, whole(), solution(), host_threads_);
  if (problem_.compressed && found_of_ != whole().parameters)
    found_->figures.push_back({"relative error of the last gradient", compression_error(whole())});
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
  if (problem_.compressed)
    method += fmt::format(
        "; gradients in bf16 with error feedback, the last one {:.2g} from exact, "
        "its bits and residuals as recomputed on the host",
        findings.figures.back().value);
  return {Status::passed, method + words_of(problem_, findings), "", findings};
}

void PinnWorkload::write_result(const std::filesystem::path& file) const {
  write_state_file(file, problem_, state_of(whole()));
  write_solution_file(file, Solution::rows,
                      solution_of_network(problem_, whole().parameters, host_threads_).values,
                      solution().values);
}

}  // namespace mgpu::pinn
