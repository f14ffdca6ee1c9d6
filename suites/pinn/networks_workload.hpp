// Base of the workloads that train networks: their initial and final states. Items are the members
// of an ensemble (ensemble_workload.hpp), the parts of a domain (domain_workload.hpp), with a
// network each, or the shards of one training (pinn_workload.hpp).
#pragma once

#include <optional>
#include <vector>

#include "suites/common/group_limits.hpp"
#include "suites/common/iterative.hpp"
#include "suites/common/variants.hpp"
#include "suites/pinn/outcome.hpp"
#include "suites/pinn/reference.hpp"
#include "suites/pinn/solution.hpp"
#include "suites/pinn/ways.hpp"

namespace mgpu::pinn {

class NetworksWorkload : public CheckpointedWorkload<Problem>, public Tunable {
 public:
  Demand demand(const DeviceTraits& device) const override;
  std::vector<std::string> kernel_variants(const DeviceTraits& device) const override {
    return names_of(ways(device, training(0)), &Way::name);
  }
  bool repartition(std::span<const Owner>) override { return false; }
  void restart() override;
  std::string digest() const override;  // SHA-256 of all parameters, moments and losses

  // Called by the programs, possibly from several threads at once.
  const Network& network() const { return network_; }
  Problem training(std::uint64_t number) const {
    return problem_.partition == Partition::domain ? problem_.part(number)
                                                   : problem_.member(number);
  }
  std::span<const float> initial(std::uint64_t number) const;  // parameters, means, squares
  // Takes the final state of an item's network, without the gradients of its shards.
  void add_ending(std::uint64_t number, Ending ending);
  const Ending& ending(std::uint64_t number) const { return endings_[number]; }

 protected:
  // Throws Error(usage), Error(out_of_memory).
  explicit NetworksWorkload(const SuiteParams& params);
  // Returns make(way) of the preferred way, or else of the first one that suits the device.
  template <class Make>
  auto make_by_way(const DeviceTraits& device, const Make& make) const {
    std::vector<Way> all = ways(device, training(0));
    all.insert(all.begin(), Way(named_or_first(all, &Way::name, preferred(device))));
    if (device.nvidia) {  // its compiler may refuse the inline assembly
      DeviceTraits plain = device;
      plain.nvidia = false;
      for (Way& way : ways(plain, training(0))) all.push_back(std::move(way));
    }
    return make_first_suited(all, make);
  }
  const Solution& solution() const;

  const Network network_;
  std::vector<float> initial_;
  std::vector<Ending> endings_;

 private:
  mutable std::optional<Solution> solution_;
};

}  // namespace mgpu::pinn
