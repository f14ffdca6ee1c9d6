#include "suites/pinn/training_program.hpp"

#include <algorithm>

#include "suites/pinn/launches.hpp"

namespace mgpu::pinn {
namespace {

constexpr Bytes kPiece = 16;  // bytes that a work-item of kernels/copy_part.cl copies

Bytes in_pieces(std::uint64_t numbers) {
  return (numbers * kNumber + kPiece - 1) / kPiece * kPiece;
}

}  // namespace

TrainingProgram::TrainingProgram(PinnWorkload& workload, DeviceResources& device, Mode mode,
                                 Way way, std::uint64_t shards)
    : workload_(workload),
      problem_(workload.problem()),
      mode_(mode),
      way_(std::move(way)),
      wide_{problem_.layers, wide(problem_)},
      count_(u32(wide_.count())),
      stride_(u32(wide_.stride())),
      hidden_(way_.by_layer ? problem_.layers - 1 : 0),
      local_(device.traits().cpu ? 16 : 64),
      in_series_(!device.traits().cpu && (!way_.by_layer || problem_.steps > kLookedAt)),
      peer_(workload.sums() ? device.peer() : nullptr),
      gradients_(Gradients::make(problem_, way_, shards, device)) {
  const std::string rolled = device.traits().cpu ? " -DROLLED" : "",
                    of = equation_options(problem_) + rolled;
  draw_ = device.kernel("pinn_points.cl", "draw_points", of);
  begin_ = device.kernel("pinn_adam.cl", "begin_training", "");
  add_ = device.kernel("pinn_adam.cl", "add_shards", "");
  adam_ = device.kernel("pinn_adam.cl", "adam", "");
  const Bytes parameters = in_pieces(count_);
  state_ = device.allocate(in_pieces(3 * std::uint64_t{count_}));
  for (auto& each : parameters_) each = device.allocate(parameters);
  mean_ = device.allocate(parameters);
  square_ = device.allocate(parameters);
  gradient_ = device.allocate(parameters);
  transposed_ = device.allocate(
      std::max<Bytes>(std::uint64_t{hidden_} * wide_.width * wide_.width * kNumber, kPiece));
  losses_ = device.allocate(in_pieces(std::uint64_t{problem_.steps} * 3));
  points_ = device.allocate(all_places(problem_, way_, shards) * 16);
  shards_ = device.allocate(shards * stride_ * kNumber);
  // Of a slice by itself, whose nodes need not make up the whole.
  own_sums_ = device.allocate(std::uint64_t{problem_.shards} * stride_ * kNumber);
  list_ = device.allocate(std::uint64_t{problem_.shards} * 8);
  if (problem_.snapshots > 0) {
    keep_ = device.kernel("pinn_adam.cl", "keep", "");
    snapshots_ = device.allocate(std::uint64_t{problem_.snapshots} * count_ * kNumber);
  }
  if (problem_.checkpoint_rounds == 0) return;
  copy_ = device.kernel("copy_part.cl", "copy_part", "");
  for (std::size_t i = 0; i < 3; ++i) copies_[i] = device.allocate(parameters);
  copies_[3] = device.allocate(losses_->size());
  kept_state_ = device.allocate(state_->size());
}

void TrainingProgram::load(Stream& stream) {
  staged_.resize(3 * std::size_t{count_});
  const std::uint64_t count = workload_.network().count();
  for (std::size_t i = 0; i < 3; ++i)
    widen(workload_.network(), wide_, workload_.initial().data() + i * count,
          staged_.data() + i * count_);
  stream.upload(*state_, 0, std::as_bytes(std::span(staged_)));
}

void TrainingProgram::begin_state(Buffer& from, Stream& stream) {
  Buffer& parameters = parameters_after(workload_.begun_from());
  Buffer* const counts = gradients_->counts();
  stream.launch(
      *begin_, grid_of(count_, local_),
      {&from, std::uint64_t{0}, &parameters, mean_.get(), square_.get(), transposed_.get(), hidden_,
       u32(wide_.width), count_, counts != nullptr ? counts : list_.get(),
       counts != nullptr ? u32(counts->size() / 4) : 0U});
}

void TrainingProgram::draw(const Slice& slice, std::uint32_t step, Stream& stream) {
  const std::uint64_t all = all_places(problem_, way_, slice.size());
  const Slice& shards = slice;
  // Places behind those of the last shard of the slice are of the shards that follow: whatever is
  // computed there, nobody adds.
  stream.launch(*draw_, grid_of(all, local_),
                {points_.get(), u32(shards.begin), places_of_shard(problem_), problem_.shards,
                 problem_.points, problem_.boundary, problem_.initial,
                 problem_.seed_of_points(step), u32(all), static_cast<float>(problem_.first().low),
                 static_cast<float>(problem_.first().high)});
}

void TrainingProgram::enqueue(const Slice& slice, unsigned, Stream& stream) {
  sample_ = workload_.sample();
  const std::uint32_t done = workload_.begun_from();
  if (done > 0) {
    const PinnWorkload::Checkpoint& kept = workload_.checkpoint(done);
    landing_ = kept.state;
    landing_.insert(landing_.end(), kept.losses.begin(), kept.losses.end());
    const std::span<const float> all(landing_);
    stream.upload(*kept_state_, 0, std::as_bytes(all.first(kept.state.size())));
    stream.upload(*losses_, 0, std::as_bytes(all.subspan(kept.state.size())));
  } else if (mode_ == Mode::end_to_end || staged_.empty()) {
    load(stream);
  }
  begin_state(done > 0 ? *kept_state_ : *state_, stream);
  settle(slice, stream);
  draw(slice, done, stream);
  if (!others_.empty())
    peer_->sync(others_, others_);  // nobody has sums of the sample before to read any more
}

void TrainingProgram::settle(const Slice& slice, Stream& stream) {
  done_ = slice;
  nodes_ = nodes_of(slice.begin, slice.end);
  others_.clear();
  listed_.clear();
  const bool shared = owner_of(workload_.owners(), slice) != nullptr;
  for (const Node& node : shared ? workload_.nodes() : std::span<const Node>(nodes_)) {
    listed_.push_back(node.first);
    listed_.push_back(node.level);
  }
  stream.upload(*list_, 0, std::as_bytes(std::span(listed_)));
  if (!shared) return;
  for (const Owner& owner : workload_.owners())
    if (owner.device != peer_->self()) others_.push_back(owner.device);
}

// Everybody has the parameters: only points are others.
void TrainingProgram::move(const Slice&, const Slice& to, std::uint32_t steps, Stream& stream) {
  settle(to, stream);
  draw(to, steps, stream);
}

std::uint32_t TrainingProgram::enqueue_rounds(const Slice& slice, std::uint32_t first,
                                              std::uint32_t most, Stream& stream) {
  // What others are sent is no launch.
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
  const bool has_all = slice.size() == problem_.shards,
             keeps = snapshots_ && workload_.brings_state(slice) && snapshot_after(round + 1);
  const unsigned more = (draws_before(round) ? 1U : 0U) + (keeps ? 1U : 0U);
  if (has_all && gradients_->makes_steps()) return more + 1;
  return more + gradients_->launches() + (has_all ? 0U : static_cast<unsigned>(nodes_.size())) + 1;
}

bool TrainingProgram::draws_before(std::uint32_t round) const {
  return problem_.resample > 0 && round > workload_.begun_from() &&
         (problem_.steps_done + round) % problem_.resample == 0;
}

void TrainingProgram::enqueue_round(const Slice& slice, std::uint32_t round, Stream& stream) {
  if (draws_before(round)) draw(slice, round, stream);
  step(slice, round, stream);
  if (snapshots_ && workload_.brings_state(slice)) keep_snapshot(round + 1, stream);
  if (round + 1 == problem_.steps && mode_ == Mode::end_to_end && workload_.brings_state(slice))
    bring_ending(slice, stream);
}

// Which one is kept when so many steps are done.
std::optional<std::uint32_t> TrainingProgram::snapshot_after(std::uint32_t steps) const {
  const auto number =
      u32((std::uint64_t{steps} * (problem_.snapshots + 1) + problem_.steps - 1) / problem_.steps);
  if (number == 0 || number > problem_.snapshots || problem_.steps_of_snapshot(number - 1) != steps)
    return std::nullopt;
  return number - 1;
}

void TrainingProgram::keep_snapshot(std::uint32_t steps, Stream& stream) {
  if (const auto number = snapshot_after(steps))
    stream.launch(
        *keep_, grid_of(count_, local_),
        {&parameters_after(steps), snapshots_.get(), *number * std::uint64_t{count_}, count_});
}

// The sums of all nodes; null: there is but one, of all shards, which the step adds up itself.
Buffer* TrainingProgram::exchange(const Slice& slice, std::uint32_t round, Stream& stream) {
  if (others_.empty() && slice.size() == problem_.shards) return nullptr;
  SharedMemory* const shared = others_.empty() ? nullptr : &workload_.sums()[round];
  Buffer& sums = shared != nullptr ? shared->piece(peer_->self()) : *own_sums_;
  const Bytes size = std::uint64_t{stride_} * kNumber;
  for (const Node& node : nodes_) {
    stream.launch(
        *add_, grid_of(stride_, local_),
        {shards_.get(), &sums, node.first - u32(slice.begin), node.shards(), node.first, stride_});
    for (const DeviceIndex other : others_)
      peer_->put(sums, node.first * size, *shared, other, node.first * size, size);
  }
  // Sums of even and of odd steps have places of their own, so that one meeting a step is enough.
  if (shared != nullptr) peer_->sync(others_, others_);
  return &sums;
}

void TrainingProgram::step(const Slice& slice, std::uint32_t round, Stream& stream) {
  Buffer &before = parameters_after(round), &after = parameters_after(round + 1);
  const Gradients::At at{&before, transposed_.get(), points_.get(), shards_.get()};
  const Problem::Step adam = problem_.adam(round);
  if (others_.empty() && slice.size() == problem_.shards && gradients_->makes_steps())
    return gradients_->enqueue_step(
        at, {&after, mean_.get(), square_.get(), gradient_.get(), losses_.get(), round, adam},
        stream);
  gradients_->enqueue(at, slice.size(), stream);
  Buffer* const sums = exchange(slice, round, stream);
  constexpr std::size_t side = 32, parts = 8;  // of its work-groups
  stream.launch(*adam_, {{(count_ + 3 + side - 1) / side * side, parts, 1}, {side, parts, 1}},
                {sums != nullptr ? sums : shards_.get(), list_.get(),
                 sums != nullptr ? u32(listed_.size() / 2) : 0U, problem_.shards, &before, &after,
                 mean_.get(), square_.get(), gradient_.get(), losses_.get(), transposed_.get(),
                 hidden_, u32(wide_.width), count_, stride_, round, adam.rate, adam.epsilon});
}

Completion TrainingProgram::checkpoint(const Slice& slice, std::uint32_t steps, Stream& stream) {
  if (!workload_.brings_state(slice))
    return [this, slice, steps] { workload_.checkpointed(slice, steps); };
  PinnWorkload::Checkpoint& kept = workload_.checkpoint(steps);
  kept.state.resize(3 * std::size_t{count_});
  kept.losses.resize(losses_->size() / kNumber);
  Buffer* const from[] = {&parameters_after(steps), mean_.get(), square_.get(), losses_.get()};
  for (std::size_t i = 0; i < 4; ++i) {
    const std::uint64_t pieces = from[i]->size() / kPiece;
    stream.launch(*copy_, grid_of(pieces, 8),
                  {from[i], copies_[i].get(), std::uint64_t{0}, pieces});
    const std::span<float> to =
        i < 3 ? std::span(kept.state).subspan(i * count_, count_) : std::span(kept.losses);
    stream.download(*copies_[i], 0, std::as_writable_bytes(to));
  }
  return [this, slice, steps] { workload_.checkpointed(slice, steps); };
}

// Parameters, those before the last step, moments, gradient, losses.
void TrainingProgram::bring_ending(const Slice&, Stream& stream) {
  Buffer* const from[] = {&parameters_after(problem_.steps), &parameters_after(problem_.steps - 1),
                          mean_.get(), square_.get(), gradient_.get()};
  landing_.resize(5 * std::size_t{count_} + 3 * std::size_t{problem_.steps});
  const std::span<float> all(landing_);
  for (std::size_t i = 0; i < 5; ++i)
    stream.download(*from[i], 0, std::as_writable_bytes(all.subspan(i * count_, count_)));
  stream.download(*losses_, 0, std::as_writable_bytes(all.subspan(5 * std::size_t{count_})));
}

Completion TrainingProgram::publish(Stream& stream) {
  if (sample_ != workload_.sample() || !done_) return {};
  if (mode_ == Mode::resident || !workload_.brings_state(*done_)) bring_ending(*done_, stream);
  evidence_.resize(done_->size() * stride_);
  stream.download(*shards_, 0, std::as_writable_bytes(std::span(evidence_)));
  if (snapshots_ && workload_.brings_state(*done_)) {
    kept_.resize(std::size_t{problem_.snapshots} * count_);
    stream.download(*snapshots_, 0, std::as_writable_bytes(std::span(kept_)));
  }
  return [this] { workload_.arrived(*done_, ending(*done_)); };
}

std::vector<float> TrainingProgram::own_layout(const float* from) const {
  std::vector<float> to(workload_.network().count());
  narrow(workload_.network(), wide_, from, to.data());
  return to;
}

Ending TrainingProgram::ending(const Slice& slice) const {
  Ending ending;
  std::vector<float>* const all[] = {&ending.parameters, &ending.before, &ending.mean,
                                     &ending.square, &ending.gradient};
  for (std::size_t i = 0; i < 5; ++i) *all[i] = own_layout(landing_.data() + i * count_);
  const float* const losses = landing_.data() + 5 * std::size_t{count_};
  ending.losses.assign(losses, losses + 3 * std::size_t{problem_.steps});
  for (std::uint64_t s = 0; s < slice.size(); ++s) {
    const float* const shard = evidence_.data() + s * stride_;
    ending.shards.push_back(own_layout(shard));
    ending.losses_of_shards.emplace_back(shard + count_, shard + count_ + 3);
  }
  for (std::uint32_t n = 0; n < problem_.snapshots && workload_.brings_state(slice); ++n) {
    const std::uint32_t steps = problem_.steps_of_snapshot(n);
    // Those from before a checkpoint that a sample began again from may have been lost with a
    // device.
    if (steps > workload_.begun_from())
      ending.snapshots.push_back({steps, own_layout(kept_.data() + std::size_t{n} * count_)});
  }
  return ending;
}

}  // namespace mgpu::pinn
