#include "suites/pinn/training_program.hpp"

#include <algorithm>
#include <array>
#include <memory>

namespace mgpu::pinn {

TrainingProgram::TrainingProgram(PinnWorkload& workload, DeviceResources& device, Mode mode,
                                 Way way, std::uint64_t shards)
    : PartitionedProgram(workload, mode, workload.sums() ? device.peer() : nullptr),
      trainer_(problem_, std::move(way), device, 1, shards),
      trained_(trainer_.make(device)),
      count_(u32(trainer_.network().count())),
      in_series_(!device.traits().cpu && (trainer_.is_by_shard() || problem_.steps > kLookedAt)),
      add_(device.kernel("pinn_adam.cl", "add_shards", "")),
      // Has room for a slice alone, whose nodes need not make up the whole tree.
      own_sums_(device.allocate(std::uint64_t{problem_.shards} * trainer_.stride() * kNumber)),
      list_(device.allocate(std::uint64_t{problem_.shards} * 8)) {
  if (problem_.compressed) compression_.emplace(problem_, device, count_, trainer_.stride());
  if (problem_.snapshots > 0)
    snapshots_ = device.allocate(std::uint64_t{problem_.snapshots} * count_ * kNumber);
  if (problem_.checkpoint_rounds == 0) return;
  copy_ = device.kernel("copy_part.cl", "copy_part", "");
  for (std::size_t i = 0; i < 3; ++i) copies_[i] = device.allocate(trained_.mean->size());
  copies_[3] = device.allocate(trained_.losses->size());
  kept_state_ = device.allocate(trainer_.state_size() * kNumber);
}

void TrainingProgram::load(Stream& stream) {
  trainer_.bring_states(
      {0, 1}, [&](std::uint64_t network) { return workload_.initial(network); }, stream);
}

void TrainingProgram::enqueue(const Slice& slice, unsigned, Stream& stream) {
  const std::uint32_t done = workload_.begun_from();
  if (done > 0) {
    const PinnWorkload::Checkpoint& kept = workload_.checkpoint(done);
    landing_ = kept.state;
    landing_.insert(landing_.end(), kept.losses.begin(), kept.losses.end());
    const std::span<const float> all(landing_);
    stream.upload(*kept_state_, 0, std::as_bytes(all.first(kept.state.size())));
    stream.upload(*trained_.losses, 0, std::as_bytes(all.subspan(kept.state.size())));
    trainer_.begin(trained_, *kept_state_, 0, done, stream);
  } else {
    if (mode_ == Mode::end_to_end) load(stream);
    trainer_.begin(trained_, 0, stream);
  }
  take_share(slice, stream);
  draw(slice, done, stream);
  meet();  // Peers have finished reading the sums of the previous sample
}

void TrainingProgram::take_share(const Slice& slice, Stream& stream) {
  settle(slice);
  nodes_ = workload_.nodes_of_share(slice);
  others_.clear();
  listed_.clear();
  const bool shared = owner_of(workload_.owners(), slice) != nullptr;
  for (const Node& node : shared ? workload_.nodes() : std::span<const Node>(nodes_)) {
    listed_.push_back(node.first);
    listed_.push_back(node.level);
  }
  stream.upload(*list_, 0, std::as_bytes(std::span(listed_)));
  if (shared) others_ = other_owners(workload_.owners(), peer_->self());
}

// All devices have the parameters, so that only points have to be drawn.
void TrainingProgram::move(const Slice&, const Slice& to, std::uint32_t steps, Stream& stream) {
  take_share(to, stream);
  draw(to, steps, stream);
}

std::uint32_t TrainingProgram::enqueue_rounds(const Slice& slice, std::uint32_t first,
                                              std::uint32_t most, Stream& stream) {
  // Sends to others are not launches, so they cannot be part of a series.
  const bool in_series = in_series_ && others_.empty();
  const std::uint32_t steps = in_series ? std::min(most, kSeries) : 1;
  if (steps > 1) {
    unsigned launches = 0;
    for (std::uint32_t round = first; round < first + steps; ++round)
      launches += launches_of(slice, round);
    stream.begin_series(launches);
  }
  for (std::uint32_t round = first; round < first + steps; ++round)
    enqueue_round(slice, round, stream);
  return steps;
}

unsigned TrainingProgram::launches_of(const Slice& slice, std::uint32_t round) const {
  const bool has_all = slice.size() == problem_.shards && !compression_;
  const unsigned added = compression_ ? Compression::launches
                         : has_all    ? 0U
                                      : static_cast<unsigned>(nodes_.size());
  return (draws_before(round) ? 1U : 0U) + (snapshot_after(slice, round + 1) ? 1U : 0U) +
         trainer_.launches_of_step(has_all) + added;
}

bool TrainingProgram::draws_before(std::uint32_t round) const {
  return problem_.resample > 0 && round > workload_.begun_from() &&
         (problem_.steps_done + round) % problem_.resample == 0;
}

void TrainingProgram::enqueue_round(const Slice& slice, std::uint32_t round, Stream& stream) {
  if (draws_before(round)) draw(slice, round, stream);
  if (is_alone(slice)) {  // the step adds up all shards itself
    trainer_.step(trained_, round, stream);
  } else {
    trainer_.step(trained_, round, stream, slice.size(),
                  [&] { return exchange(slice, round, stream); });
  }
  if (const auto number = snapshot_after(slice, round + 1))
    trainer_.keep(trained_.parameters_after(round + 1), *snapshots_,
                  *number * std::uint64_t{count_}, count_, stream);
  if (round + 1 == problem_.steps && mode_ == Mode::end_to_end && workload_.brings_state(slice))
    bring_result(slice, stream);
}

std::optional<std::uint32_t> TrainingProgram::snapshot_after(const Slice& slice,
                                                             std::uint32_t steps) const {
  if (!snapshots_ || !workload_.brings_state(slice)) return std::nullopt;
  const auto number =
      u32(ceil_div(std::uint64_t{steps} * (problem_.snapshots + 1), problem_.steps));
  if (number == 0 || number > problem_.snapshots || problem_.steps_of_snapshot(number - 1) != steps)
    return std::nullopt;
  return number - 1;
}

// Adds up this device's nodes, exchanges them, and returns the sums of all nodes.
Trainer::Sums TrainingProgram::exchange(const Slice& slice, std::uint32_t round, Stream& stream) {
  if (compression_) return exchange_compressed(slice, round, stream);
  SharedMemory* const shared = others_.empty() ? nullptr : &workload_.sums()[round];
  Buffer& sums = shared != nullptr ? shared->piece(peer_->self()) : *own_sums_;
  const std::uint32_t stride = trainer_.stride();
  const Bytes size = stride * kNumber;
  for (const Node& node : nodes_) {
    stream.launch(*add_, grid_of(*add_, stride, trainer_.local()),
                  {&trainer_.shards(), &sums, node.first - u32(slice.begin), node.shards(),
                   node.first, stride});
    for (const DeviceIndex other : others_)
      peer_->put(sums, node.first * size, *shared, other, node.first * size, size);
  }
  // Sums of even and odd steps are in different buffers, so that one synchronisation per step
  // suffices.
  meet();
  return {&sums, list_.get(), listed_.size() / 2};
}

Trainer::Sums TrainingProgram::exchange_compressed(const Slice& slice, std::uint32_t round,
                                                   Stream& stream) {
  SharedMemory* const shared = others_.empty() ? nullptr : &workload_.sums()[round];
  Buffer& sums = shared != nullptr ? shared->piece(peer_->self()) : *own_sums_;
  const Bytes size = compression_->wire_bytes();
  compression_->compress(trainer_.shards(), sums, slice, round, stream);
  for (const Node& node : nodes_)
    for (const DeviceIndex other : others_)
      peer_->put(sums, node.first * size, *shared, other, node.first * size, size);
  meet();
  return {&compression_->combine(sums, *list_, listed_.size() / 2, round, stream), list_.get(), 0,
          1};
}

Completion TrainingProgram::checkpoint(const Slice& slice, std::uint32_t steps, Stream& stream) {
  if (!workload_.brings_state(slice)) return checkpointed(slice, steps);
  PinnWorkload::Checkpoint& kept = workload_.checkpoint(steps);
  kept.state.resize(trainer_.state_size());
  kept.losses.resize(trained_.losses->size() / kNumber);
  Buffer* const from[] = {&trained_.parameters_after(steps), trained_.mean.get(),
                          trained_.square.get(), trained_.losses.get()};
  for (std::size_t i = 0; i < 4; ++i) {
    copy_part(*copy_, *from[i], *copies_[i], 0, from[i]->size(), stream);
    const std::span<float> to =
        i < 3 ? std::span(kept.state).subspan(i * count_, count_) : std::span(kept.losses);
    stream.download(*copies_[i], 0, std::as_writable_bytes(to));
  }
  return checkpointed(slice, steps);
}

Completion TrainingProgram::report(const Slice& slice, std::uint32_t steps, Stream& stream) {
  if (!workload_.brings_state(slice)) return {};
  const auto losses = std::make_shared<std::array<float, 3>>();
  stream.download(*trained_.losses, (steps - 1) * sizeof *losses,
                  std::as_writable_bytes(std::span(*losses)));
  return [this, losses, steps] {
    workload_.add_loss(steps, static_cast<double>((*losses)[0]) + (*losses)[1] + (*losses)[2]);
  };
}

// Downloads the numbers that Trainer::ending reads.
void TrainingProgram::bring_result(const Slice&, Stream& stream) {
  Buffer* const from[] = {&trained_.parameters_after(problem_.steps),
                          &trained_.parameters_after(problem_.steps - 1), trained_.mean.get(),
                          trained_.square.get(), trained_.gradient.get()};
  landing_.resize(trainer_.ending_size());
  const std::span<float> all(landing_);
  for (std::size_t i = 0; i < 5; ++i)
    stream.download(*from[i], 0, std::as_writable_bytes(all.subspan(i * count_, count_)));
  stream.download(*trained_.losses, 0,
                  std::as_writable_bytes(all.subspan(5 * std::size_t{count_})));
}

Completion TrainingProgram::publish(Stream& stream) {
  if (sample_ != workload_.sample() || !done_) return {};
  if (mode_ == Mode::resident || !workload_.brings_state(*done_)) bring_result(*done_, stream);
  evidence_.resize(done_->size() * trainer_.stride());
  stream.download(trainer_.shards(), 0, std::as_writable_bytes(std::span(evidence_)));
  if (compression_) compression_->bring_residuals(stream);
  if (snapshots_ && workload_.brings_state(*done_)) {
    kept_.resize(std::size_t{problem_.snapshots} * count_);
    stream.download(*snapshots_, 0, std::as_writable_bytes(std::span(kept_)));
  }
  return [this] { workload_.add_share(*done_, ending(*done_)); };
}

Ending TrainingProgram::ending(const Slice& slice) const {
  Ending ending = trainer_.ending(landing_.data());
  for (std::uint64_t s = 0; s < slice.size(); ++s) {
    const float* const shard = evidence_.data() + s * trainer_.stride();
    ending.shards.push_back(trainer_.own_layout(shard));
    ending.losses_of_shards.emplace_back(shard + count_, shard + count_ + 3);
  }
  if (compression_)
    ending.residuals =
        compression_->residuals([this](const float* from) { return trainer_.own_layout(from); });
  for (std::uint32_t n = 0; n < problem_.snapshots && workload_.brings_state(slice); ++n) {
    const std::uint32_t steps = problem_.steps_of_snapshot(n);
    // After a restart from a checkpoint, earlier snapshots may have been lost with a device.
    if (steps > workload_.begun_from())
      ending.snapshots.push_back(
          {steps, trainer_.own_layout(kept_.data() + std::size_t{n} * count_)});
  }
  return ending;
}

}  // namespace mgpu::pinn
