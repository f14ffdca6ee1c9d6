#include "suites/pinn/networks_workload.hpp"

namespace mgpu::pinn {

NetworksWorkload::NetworksWorkload(const SuiteParams& params)
    : CheckpointedWorkload(problem_of(params), params, 0, "nothing"),
      network_{problem_.layers, problem_.width},
      endings_(problem_.partition == Partition::data ? 1 : shape_.items) {
  const std::uint64_t each = 3 * network_.count();
  initial_.resize(endings_.size() * each);
  for (std::size_t i = 0; i < endings_.size(); ++i)
    fill_initial(network_, training(i).seed,
                 std::span(initial_).subspan(i * each, network_.count()));
}

std::span<const float> NetworksWorkload::initial(std::uint64_t number) const {
  return std::span(initial_).subspan(number * 3 * network_.count(), 3 * network_.count());
}

Demand NetworksWorkload::demand(const DeviceTraits&) const {
  Demand demand;
  demand.fp32 = problem_.flop_per_point() * shape_.ops;
  return demand;
}

void NetworksWorkload::restart() {
  CheckpointedWorkload::restart();
  endings_.assign(endings_.size(), {});
}

void NetworksWorkload::add_ending(std::uint64_t number, Ending ending) {
  endings_[number] = std::move(ending);
  arrived({number, number + 1});
}

std::string NetworksWorkload::digest() const { return digest_of(endings_); }

const Solution& NetworksWorkload::solution() const {
  if (!solution_) solution_ = solution_of(problem_, host_threads_);
  return *solution_;
}

}  // namespace mgpu::pinn
