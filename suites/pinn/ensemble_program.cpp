#include "suites/pinn/ensemble_program.hpp"

#include <algorithm>

namespace mgpu::pinn {

EnsembleProgram::EnsembleProgram(EnsembleWorkload& workload, DeviceResources& device, Mode mode,
                                 Way way, std::uint64_t members)
    : workload_(workload),
      problem_(workload.problem()),
      mode_(mode),
      in_series_(!device.traits().cpu),
      trainer_(problem_, std::move(way), device, problem_.members, problem_.shards),
      trained_(trainer_.make(device)) {
  for (auto& each : endings_) each = device.allocate(members * trainer_.ending_size() * kNumber);
}

void EnsembleProgram::enqueue(const Slice& slice, unsigned slot, Stream& stream) {
  if (mode_ == Mode::end_to_end) bring_states(slice, stream);
  for (std::uint64_t m = slice.begin; m < slice.end; ++m) {
    train(m, stream);
    trainer_.keep_ending(trained_, *endings_[slot], m - slice.begin, stream);
  }
  landing_[slot].resize(slice.size() * trainer_.ending_size());
  under_way_[slot] = slice;
  stream.download(*endings_[slot], 0, std::as_writable_bytes(std::span(landing_[slot])));
}

void EnsembleProgram::train(std::uint64_t number, Stream& stream) {
  const Problem member = workload_.training(number);
  const Slice all{0, problem_.shards};
  trainer_.begin(trained_, number, stream);
  trainer_.draw(trained_, member, all, 0, stream);
  for (std::uint32_t first = 0; first < problem_.steps; first += kSeries) {
    const std::uint32_t end = std::min(first + kSeries, problem_.steps);
    unsigned launches = 0;
    for (std::uint32_t round = first; round < end; ++round)
      launches += trainer_.launches_of_step() + (draws_before(member, round) ? 1U : 0U);
    if (in_series_) stream.begin_series(launches);
    for (std::uint32_t round = first; round < end; ++round) {
      if (draws_before(member, round)) trainer_.draw(trained_, member, all, round, stream);
      trainer_.step(trained_, round, stream);
    }
  }
}

void EnsembleProgram::finished(const Slice& slice) {
  const unsigned slot = under_way_[0] == slice ? 0 : 1;
  for (std::uint64_t m = slice.begin; m < slice.end; ++m)
    workload_.add_ending(
        m, trainer_.ending(landing_[slot].data() + (m - slice.begin) * trainer_.ending_size()));
}

}  // namespace mgpu::pinn
