#include "suites/pinn/trainer.hpp"

#include <algorithm>

namespace mgpu::pinn {

Trainer::Trainer(const Problem& each, Way way, DeviceResources& device)
    : problem_(each),
      way_(std::move(way)),
      network_{each.layers, each.width},
      wide_{each.layers, wide(each)},
      count_(u32(wide_.count())),
      stride_(u32(wide_.stride())),
      hidden_(way_.by_layer ? each.layers - 1 : 0),
      local_(device.traits().cpu ? 16 : 64),
      gradients_(Gradients::make(problem_, way_, problem_.shards, device)) {
  const std::string rolled = device.traits().cpu ? " -DROLLED" : "";
  draw_ = device.kernel("pinn_points.cl", "draw_points", equation_options(problem_) + rolled);
  begin_ = device.kernel("pinn_adam.cl", "begin_training", "");
  adam_ = device.kernel("pinn_adam.cl", "adam", "");
  keep_ = device.kernel("pinn_adam.cl", "keep", "");
  shards_ = device.allocate(std::uint64_t{problem_.shards} * stride_ * kNumber);
  list_ = device.allocate(8);  // of nodes, of which there are none
}

Trained Trainer::make(DeviceResources& device) const {
  Trained made;
  for (auto* const each :
       {&made.parameters[0], &made.parameters[1], &made.mean, &made.square, &made.gradient})
    *each = device.allocate(std::uint64_t{stride_} * kNumber);  // whole vectors
  made.transposed = device.allocate(
      std::max<Bytes>(std::uint64_t{hidden_} * wide_.width * wide_.width * kNumber, kNumber));
  made.losses = device.allocate(std::uint64_t{problem_.steps} * 3 * kNumber);
  made.points = device.allocate(places() * 16);
  return made;
}

void Trainer::widen_state(std::span<const float> state, float* to) const {
  for (std::size_t i = 0; i < 3; ++i)
    widen(network_, wide_, state.data() + i * network_.count(), to + i * count_);
}

Ending Trainer::ending(const float* from) const {
  Ending ending;
  std::vector<float>* const all[] = {&ending.parameters, &ending.before, &ending.mean,
                                     &ending.square, &ending.gradient};
  for (std::size_t i = 0; i < 5; ++i) {
    all[i]->resize(network_.count());
    narrow(network_, wide_, from + i * count_, all[i]->data());
  }
  const float* const losses = from + 5 * std::size_t{count_};
  ending.losses.assign(losses, losses + 3 * std::size_t{problem_.steps});
  return ending;
}

void Trainer::begin(const Trained& trained, Buffer& states, std::uint64_t number, Stream& stream) {
  Buffer* const counts = gradients_->counts();
  stream.launch(
      *begin_, grid_of(count_, local_),
      {&states, number * state_size(), &trained.parameters_after(0), trained.mean.get(),
       trained.square.get(), trained.transposed.get(), hidden_, u32(wide_.width), count_,
       counts != nullptr ? counts : list_.get(), counts != nullptr ? u32(counts->size() / 4) : 0U});
}

void Trainer::draw(const Trained& trained, const Problem& of, std::uint32_t step, Stream& stream) {
  stream.launch(*draw_, grid_of(places(), local_),
                {trained.points.get(), 0U, places_of_shard(), problem_.shards, problem_.points,
                 problem_.boundary, problem_.initial, of.seed_of_points(step), u32(places()),
                 static_cast<float>(of.first().low), static_cast<float>(of.first().high)});
}

void Trainer::step(const Trained& trained, std::uint32_t round, Stream& stream) {
  Buffer &before = trained.parameters_after(round), &after = trained.parameters_after(round + 1);
  const Gradients::At at{&before, trained.transposed.get(), trained.points.get(), shards_.get()};
  const Problem::Step adam = problem_.adam(round);
  if (gradients_->makes_steps()) {
    Buffer* const losses = trained.losses.get();
    return gradients_->enqueue_step(at,
                                    {&after, trained.mean.get(), trained.square.get(),
                                     trained.gradient.get(), losses, round, adam},
                                    stream);
  }
  gradients_->enqueue(at, problem_.shards, stream);
  constexpr std::size_t side = 32, parts = 8;  // of its work-groups
  stream.launch(
      *adam_, {{(count_ + 3 + side - 1) / side * side, parts, 1}, {side, parts, 1}},
      {shards_.get(), list_.get(), 0U, problem_.shards, &before, &after, trained.mean.get(),
       trained.square.get(), trained.gradient.get(), trained.losses.get(), trained.transposed.get(),
       hidden_, u32(wide_.width), count_, stride_, round, adam.rate, adam.epsilon});
}

void Trainer::keep_ending(const Trained& trained, Buffer& endings, std::uint64_t place,
                          Stream& stream) {
  Buffer* const from[] = {&trained.parameters_after(problem_.steps),
                          &trained.parameters_after(problem_.steps - 1), trained.mean.get(),
                          trained.square.get(), trained.gradient.get()};
  const std::uint64_t at = place * ending_size();
  for (std::uint64_t i = 0; i < 5; ++i)
    stream.launch(*keep_, grid_of(count_, local_), {from[i], &endings, at + i * count_, count_});
  stream.launch(
      *keep_, grid_of(3 * std::uint64_t{problem_.steps}, local_),
      {trained.losses.get(), &endings, at + 5 * std::uint64_t{count_}, 3 * problem_.steps});
}

TrainerMemory memory_of(const Problem& each, const Way& way) {
  const Bytes parameters = Network{each.layers, wide(each)}.stride() * kNumber,
              jets = jet_bytes(each, way, each.shards);
  const Bytes places = all_places(each, way, each.shards), shards = each.shards * parameters;
  TrainerMemory memory;
  memory.shared = 2 * jets + places * 20 + shards;
  memory.largest = std::max(jets, shards);
  memory.each = 6 * parameters + Bytes{each.steps} * 12 + places * 16;
  return memory;
}

}  // namespace mgpu::pinn
