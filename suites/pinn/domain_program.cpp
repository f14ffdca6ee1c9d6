#include "suites/pinn/domain_program.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mgpu::pinn {

DomainProgram::DomainProgram(DomainWorkload& workload, DeviceResources& device, Mode mode, Way way,
                             std::uint64_t parts)
    : PartitionedProgram(workload, mode, workload.values() ? device.peer() : nullptr),
      lanes_(device.traits().cpu ? 8 : 64),
      trainer_(workload.training(0), std::move(way), device, problem_.parts, problem_.shards),
      in_series_(!device.traits().cpu && trainer_.is_by_shard()),
      endings_(device.allocate(parts * trainer_.ending_size() * kNumber)),
      own_values_(device.allocate(workload.all_values() * kNumber)),
      nothing_(workload.all_values()) {
  const Network& wide = trainer_.network();
  const std::string of = equation_options(problem_) + (device.traits().cpu ? " -DROLLED" : "");
  values_at_end_ = make_first_suited(halves_of(lanes_), [&](std::size_t lanes) {
    lanes_ = lanes;
    return device.kernel(
        "pinn_points.cl", "values_at_end",
        of + fmt::format(" -DLANES={} -DLAYERS={} -DWIDTH={}", lanes, wide.layers, wide.width));
  });
  take_values_ = device.kernel("pinn_points.cl", "take_values", of);
  for (std::uint64_t p = 0; p < parts; ++p) trained_.push_back(trainer_.make(device));
}

void DomainProgram::enqueue(const Slice& slice, unsigned, Stream& stream) {
  settle_between_neighbours(slice, false);
  // A slice computed alone receives no values.
  if (others_.empty() && slice.size() < problem_.parts)
    stream.upload(*own_values_, 0, std::as_bytes(std::span(nothing_)));
  if (mode_ == Mode::end_to_end) bring_states(slice, stream);
  for (std::uint64_t p = slice.begin; p < slice.end; ++p) {
    trainer_.begin(trained(slice, p), p, stream);
    trainer_.draw(trained(slice, p), workload_.training(p), {0, problem_.shards}, 0, stream);
  }
  meet();  // Peers have finished reading the values of the previous sample
}

// Computes the values of `part`'s network at an end of a neighbouring part, and sends them to its
// owner. End 0 is the upper end of the part before, end 1 the lower end of the part after.
void DomainProgram::tell(const Slice& slice, std::uint64_t part, unsigned end, std::uint32_t round,
                         Buffer& values, Stream& stream) {
  const std::uint64_t to = end == 0 ? part - 1 : part + 1;
  const unsigned side = end == 0 ? 1 : 0;
  const Problem of = workload_.training(to);
  const std::uint64_t sides = problem_.in_time() ? 2 : 4,
                      count = (of.boundary + sides - 1 - side) / sides,
                      at = workload_.values_of(to, side);
  if (count == 0) return;
  stream.launch(
      *values_at_end_, grid_of(count * lanes_, lanes_),
      {&trained(slice, part).parameters_after(round), &values, u32(at), side,
       of.seed_of_points(round), static_cast<float>(side == 0 ? of.first().low : of.first().high)});
  const Owner* const owner = to < slice.begin  ? neighbours_.before
                             : to >= slice.end ? neighbours_.after
                                               : nullptr;
  if (owner != nullptr)
    peer_->put(values, at * kNumber, workload_.values()[round], owner->device, at * kNumber,
               count * kNumber);
}

void DomainProgram::enqueue_round(const Slice& slice, std::uint32_t round, Stream& stream) {
  // Values of even and odd steps are in different buffers, so that one synchronisation per step
  // suffices.
  Buffer& values = others_.empty() ? *own_values_ : workload_.values()[round].piece(peer_->self());
  for (std::uint64_t p = slice.begin; p < slice.end; ++p) {
    if (draws_before(problem_, round))
      trainer_.draw(trained(slice, p), workload_.training(p), {0, problem_.shards}, round, stream);
    if (p > 0) tell(slice, p, 0, round, values, stream);
    if (p + 1 < problem_.parts) tell(slice, p, 1, round, values, stream);
  }
  meet();
  if (in_series_)
    stream.begin_series(static_cast<unsigned>(slice.size()) * (1 + trainer_.launches_of_step()));
  for (std::uint64_t p = slice.begin; p < slice.end; ++p) {
    const Problem part = workload_.training(p);
    stream.launch(*take_values_,
                  grid_of(*take_values_, trainer_.places(part.shards), trainer_.local()),
                  {trained(slice, p).points.get(), &values, u32(workload_.values_of(p, 0)),
                   u32(workload_.values_of(p, 1)),
                   (part.goes_on_below ? 1U : 0U) + (part.goes_on_above ? 2U : 0U),
                   trainer_.places_of_shard(), part.shards, part.points, part.boundary,
                   u32(trainer_.places(part.shards))});
    trainer_.step(trained(slice, p), round, stream);
  }
  if (round + 1 == problem_.steps && mode_ == Mode::end_to_end) bring_result(slice, stream);
}

void DomainProgram::bring_result(const Slice& slice, Stream& stream) {
  for (std::uint64_t p = slice.begin; p < slice.end; ++p)
    trainer_.keep_ending(trained(slice, p), *endings_, p - slice.begin, stream);
  landing_.resize(slice.size() * trainer_.ending_size());
  stream.download(*endings_, 0, std::as_writable_bytes(std::span(landing_)));
}

Completion DomainProgram::publish(Stream& stream) {
  if (sample_ != workload_.sample() || !done_) return {};
  if (mode_ != Mode::end_to_end) bring_result(*done_, stream);
  return [this] {
    for (std::uint64_t p = done_->begin; p < done_->end; ++p)
      workload_.add_ending(
          p, trainer_.ending(landing_.data() + (p - done_->begin) * trainer_.ending_size()));
  };
}

}  // namespace mgpu::pinn
