#include "suites/pinn/networks_workload.hpp"

namespace mgpu::pinn {

NetworksWorkload::NetworksWorkload(const SuiteParams& params)
    : PartitionedWorkload(problem_of(params), params, 0, "nothing"),
      network_{problem_.layers, problem_.width},
      initial_(shape_.items * 3 * network_.count()),
      endings_(shape_.items) {
  for (std::uint64_t i = 0; i < shape_.items; ++i)
    fill_initial(network_, training(i).seed,
                 std::span(initial_).subspan(i * 3 * network_.count(), network_.count()));
}

std::span<const float> NetworksWorkload::initial(std::uint64_t number) const {
  return std::span(initial_).subspan(number * 3 * network_.count(), 3 * network_.count());
}

Demand NetworksWorkload::demand(const DeviceTraits&) const {
  Demand demand;
  demand.fp32 = problem_.flop_per_point() * shape_.ops;
  return demand;
}

void NetworksWorkload::begin_sample() {
  PartitionedWorkload::begin_sample();
  endings_.assign(shape_.items, {});
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
