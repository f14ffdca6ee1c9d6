#include "suites/pinn/trainer.hpp"

#include <algorithm>

#include "suites/common/build_option.hpp"
#include "suites/common/group_limits.hpp"

namespace mgpu::pinn {

Trainer::Trainer(const Problem& each, Way way, DeviceResources& device, std::uint64_t networks,
                 std::uint64_t shards)
    : problem_(each),
      way_(std::move(way)),
      network_{each.layers, each.width},
      wide_{each.layers, wide(each)},
      count_(u32(wide_.count())),
      stride_(u32(wide_.stride())),
      hidden_(way_.by_layer ? each.layers - 1 : 0),
      most_shards_(shards),
      local_(device.traits().cpu ? 16 : 64),
      gradients_(Gradients::make(problem_, way_, shards, device)),
      staged_(networks * state_size()) {
  const std::string rolled = device.traits().cpu ? " -DROLLED" : "";
  draw_ = device.kernel("pinn_points.cl", "draw_points", equation_options(problem_) + rolled);
  begin_ = device.kernel("pinn_adam.cl", "begin_training", "");
  adam_ = make_first_suited(halves_of(side_), [&](std::size_t side) {
    auto made = device.kernel("pinn_adam.cl", "adam", side == side_ ? "" : define("SIDE", side));
    side_ = side;
    return made;
  });
  keep_ = device.kernel("pinn_adam.cl", "keep", "");
  states_ = device.allocate(in_pieces(staged_.size()));
  shards_ = device.allocate(shards * stride_ * kNumber);
  list_ = device.allocate(8);  // stands for an empty list of nodes
}

Trained Trainer::make(DeviceResources& device) const {
  Trained made;
  for (auto* const each :
       {&made.parameters[0], &made.parameters[1], &made.mean, &made.square, &made.gradient})
    *each = device.allocate(std::uint64_t{stride_} * kNumber);  // rounded up to whole vectors
  made.transposed = device.allocate(
      std::max<Bytes>(std::uint64_t{hidden_} * wide_.width * wide_.width * kNumber, kNumber));
  made.losses = device.allocate(in_pieces(std::uint64_t{problem_.steps} * 3));
  made.points = device.allocate(places(most_shards_) * 16);
  return made;
}

std::vector<float> Trainer::own_layout(const float* from) const {
  std::vector<float> to(network_.count());
  narrow(network_, wide_, from, to.data());
  return to;
}

Ending Trainer::ending(const float* from) const {
  Ending ending;
  std::vector<float>* const all[] = {&ending.parameters, &ending.before, &ending.mean,
                                     &ending.square, &ending.gradient};
  for (std::size_t i = 0; i < 5; ++i) *all[i] = own_layout(from + i * count_);
  const float* const losses = from + 5 * std::size_t{count_};
  ending.losses.assign(losses, losses + 3 * std::size_t{problem_.steps});
  return ending;
}

void Trainer::bring_states(const Slice& networks, const States& initial, Stream& stream) {
  const std::span<float> staged =
      std::span(staged_).subspan(networks.begin * state_size(), networks.size() * state_size());
  for (std::uint64_t i = 0; i < 3 * networks.size(); ++i)
    widen(network_, wide_, initial(networks.begin + i / 3).data() + i % 3 * network_.count(),
          staged.data() + i * count_);
  stream.upload(*states_, networks.begin * state_size() * kNumber, std::as_bytes(staged));
}

void Trainer::begin(const Trained& trained, Buffer& states, std::uint64_t network,
                    std::uint32_t steps, Stream& stream) {
  Buffer* const counts = gradients_->counts();
  stream.launch(
      *begin_, grid_of(*begin_, count_, local_),
      {&states, network * state_size(), &trained.parameters_after(steps), trained.mean.get(),
       trained.square.get(), trained.transposed.get(), hidden_, u32(wide_.width), count_,
       counts != nullptr ? counts : list_.get(), counts != nullptr ? u32(counts->size() / 4) : 0U});
}

// Draws the points. Places beyond the last of these shards belong to the next shards; their results
// are never added.
void Trainer::draw(const Trained& trained, const Problem& of, const Slice& shards,
                   std::uint32_t step, Stream& stream) {
  const std::uint64_t all = places(shards.size());
  stream.launch(
      *draw_, grid_of(*draw_, all, local_),
      {trained.points.get(), u32(shards.begin), places_of_shard(), problem_.shards, problem_.points,
       problem_.boundary, problem_.initial, of.seed_of_points(step), u32(all),
       static_cast<float>(of.first().low), static_cast<float>(of.first().high)});
}

void Trainer::step(const Trained& trained, std::uint32_t round, Stream& stream,
                   std::uint64_t shards, const std::function<Sums()>& add) {
  Buffer &before = trained.parameters_after(round), &after = trained.parameters_after(round + 1);
  const Gradients::At at{&before, trained.transposed.get(), trained.points.get(), shards_.get()};
  const Problem::Step adam = problem_.adam(round);
  if (!add && gradients_->makes_steps()) {
    Buffer* const losses = trained.losses.get();
    return gradients_->enqueue_step(at,
                                    {&after, trained.mean.get(), trained.square.get(),
                                     trained.gradient.get(), losses, round, adam},
                                    stream);
  }
  gradients_->enqueue(at, add ? shards : problem_.shards, stream);
  const Sums sums = add ? add() : Sums{shards_.get(), list_.get()};
  constexpr std::size_t parts = 8;  // second dimension of its work-groups
  stream.launch(
      *adam_, {{round_up(count_ + 3, side_), parts, 1}, {side_, parts, 1}},
      {sums.sums, sums.list, u32(sums.nodes), sums.shards > 0 ? sums.shards : problem_.shards,
       &before, &after, trained.mean.get(), trained.square.get(), trained.gradient.get(),
       trained.losses.get(), trained.transposed.get(), hidden_, u32(wide_.width), count_, stride_,
       round, adam.rate, adam.epsilon});
}

void Trainer::keep(Buffer& from, Buffer& to, std::uint64_t at, std::uint64_t count,
                   Stream& stream) {
  stream.launch(*keep_, grid_of(*keep_, count, local_), {&from, &to, at, u32(count)});
}

void Trainer::keep_ending(const Trained& trained, Buffer& endings, std::uint64_t place,
                          Stream& stream) {
  Buffer* const from[] = {&trained.parameters_after(problem_.steps),
                          &trained.parameters_after(problem_.steps - 1), trained.mean.get(),
                          trained.square.get(), trained.gradient.get()};
  const std::uint64_t at = place * ending_size();
  for (std::uint64_t i = 0; i < 5; ++i) keep(*from[i], endings, at + i * count_, count_, stream);
  keep(*trained.losses, endings, at + 5 * std::uint64_t{count_}, 3 * std::uint64_t{problem_.steps},
       stream);
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
