#include "suites/pinn/ensemble_program.hpp"

#include <algorithm>

#include "suites/pinn/launches.hpp"

namespace mgpu::pinn {

EnsembleProgram::EnsembleProgram(EnsembleWorkload& workload, DeviceResources& device, Mode mode, Way way, std::uint64_t members)
    : workload_(workload),
      problem_(workload.problem()),
      mode_(mode),
      way_(std::move(way)),
      wide_{problem_.layers, wide(problem_)},
      count_(u32(wide_.count())),
      stride_(u32(wide_.stride())),
      hidden_(way_.by_layer ? problem_.layers - 1 : 0),
      members_(members),
      local_(device.traits().cpu ? 16 : 64),
      in_series_(!device.traits().cpu),
      gradients_(Gradients::make(problem_, way_, problem_.shards, device)) {
  const std::string rolled = device.traits().cpu ? " -DROLLED" : "";
  draw_ = device.kernel("pinn_points.cl", "draw_points", equation_options(problem_) + rolled);
  begin_ = device.kernel("pinn_adam.cl", "begin_training", "");
  adam_ = device.kernel("pinn_adam.cl", "adam", "");
  keep_ = device.kernel("pinn_adam.cl", "keep", "");
  states_ = device.allocate(problem_.members * 3 * count_ * kNumber);
  for (auto* const each : {&parameters_[0], &parameters_[1], &mean_, &square_, &gradient_})
    *each = device.allocate(count_ * kNumber);
  transposed_ = device.allocate(std::max<Bytes>(std::uint64_t{hidden_} * wide_.width * wide_.width * kNumber, kNumber));
  losses_ = device.allocate(std::uint64_t{problem_.steps} * 3 * kNumber);
  points_ = device.allocate(all_places(problem_, way_, problem_.shards) * 16);
  shards_ = device.allocate(std::uint64_t{problem_.shards} * stride_ * kNumber);
  list_ = device.allocate(8);  // of nodes, of which there are none
  for (auto& each : endings_) each = device.allocate(members_ * of_member() * kNumber);
}

void EnsembleProgram::load(Stream& stream) { bring_states({0, problem_.members}, stream); }

void EnsembleProgram::bring_states(const Slice& members, Stream& stream) {
  const std::uint64_t each = 3 * std::uint64_t{count_}, count = workload_.network().count();
  staged_.resize(problem_.members * each);
  for (std::uint64_t m = members.begin; m < members.end; ++m)
    for (std::size_t i = 0; i < 3; ++i)
      widen(workload_.network(), wide_, workload_.initial(m).data() + i * count, staged_.data() + m * each + i * count_);
  stream.upload(*states_, members.begin * each * kNumber,
                std::as_bytes(std::span(staged_).subspan(members.begin * each, members.size() * each)));
}

void EnsembleProgram::enqueue(const Slice& slice, unsigned slot, Stream& stream) {
  if (mode_ == Mode::end_to_end) bring_states(slice, stream);
  for (std::uint64_t m = slice.begin; m < slice.end; ++m) {
    train(m, stream);
    Buffer* const from[] = {&parameters_after(problem_.steps), &parameters_after(problem_.steps - 1), mean_.get(), square_.get(),
                            gradient_.get()};
    const std::uint64_t at = (m - slice.begin) * of_member();
    for (std::uint64_t i = 0; i < 5; ++i)
      stream.launch(*keep_, grid_of(count_, local_), {from[i], endings_[slot].get(), at + i * count_, count_});
    stream.launch(*keep_, grid_of(3 * std::uint64_t{problem_.steps}, local_),
                  {losses_.get(), endings_[slot].get(), at + 5 * std::uint64_t{count_}, 3 * problem_.steps});
  }
  landing_[slot].resize(slice.size() * of_member());
  under_way_[slot] = slice;
  stream.download(*endings_[slot], 0, std::as_writable_bytes(std::span(landing_[slot])));
}

void EnsembleProgram::train(std::uint64_t number, Stream& stream) {
  const Problem member = problem_.member(number);
  stream.launch(*begin_, grid_of(count_, local_),
                {states_.get(), number * 3 * count_, &parameters_after(0), mean_.get(), square_.get(), transposed_.get(), hidden_,
                 u32(wide_.width), count_});
  draw(member, 0, stream);
  for (std::uint32_t first = 0; first < problem_.steps; first += kSeries) {
    const std::uint32_t end = std::min(first + kSeries, problem_.steps);
    unsigned launches = 0;
    for (std::uint32_t round = first; round < end; ++round) launches += launches_of(round);
    if (in_series_) stream.begin_series(launches);
    for (std::uint32_t round = first; round < end; ++round) {
      if (draws_before(round)) draw(member, round, stream);
      step(round, stream);
    }
  }
}

unsigned EnsembleProgram::launches_of(std::uint32_t round) const {
  return gradients_->launches() + 1 + (draws_before(round) ? 1U : 0U);
}

void EnsembleProgram::draw(const Problem& member, std::uint32_t step, Stream& stream) {
  const std::uint64_t all = all_places(problem_, way_, problem_.shards);
  stream.launch(*draw_, grid_of(all, local_),
                {points_.get(), 0U, places(problem_, way_), problem_.shards, problem_.points, problem_.boundary, problem_.initial,
                 member.seed_of_points(step), u32(all)});
}

void EnsembleProgram::step(std::uint32_t round, Stream& stream) {
  Buffer& before = parameters_after(round);
  gradients_->enqueue({&before, transposed_.get(), points_.get(), shards_.get()}, problem_.shards, stream);
  const Problem::Step adam = problem_.adam(round);
  constexpr std::size_t side = 32, parts = 8;  // of its work-groups
  stream.launch(*adam_, {{(count_ + 3 + side - 1) / side * side, parts, 1}, {side, parts, 1}},
                {shards_.get(), list_.get(), 0U, problem_.shards, &before, &parameters_after(round + 1), mean_.get(), square_.get(),
                 gradient_.get(), losses_.get(), transposed_.get(), hidden_, u32(wide_.width), count_, stride_, round, adam.rate,
                 adam.epsilon});
}

std::vector<float> EnsembleProgram::own_layout(const float* from) const {
  std::vector<float> to(workload_.network().count());
  narrow(workload_.network(), wide_, from, to.data());
  return to;
}

Ending EnsembleProgram::ending(const float* from) const {
  Ending ending;
  std::vector<float>* const all[] = {&ending.parameters, &ending.before, &ending.mean, &ending.square, &ending.gradient};
  for (std::size_t i = 0; i < 5; ++i) *all[i] = own_layout(from + i * count_);
  const float* const losses = from + 5 * std::size_t{count_};
  ending.losses.assign(losses, losses + 3 * std::size_t{problem_.steps});
  return ending;
}

void EnsembleProgram::finished(const Slice& slice) {
  const unsigned slot = under_way_[0] == slice ? 0 : 1;
  for (std::uint64_t m = slice.begin; m < slice.end; ++m)
    workload_.arrived(m, ending(landing_[slot].data() + (m - slice.begin) * of_member()));
}

}  // namespace mgpu::pinn
