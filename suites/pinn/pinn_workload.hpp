// One training as a Workload: what it begins with and ends with, who computes which shards, digest
// and verification. What runs on a device is in training_program.hpp.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "suites/common/iterative.hpp"
#include "suites/common/variants.hpp"
#include "suites/pinn/nodes.hpp"
#include "suites/pinn/outcome.hpp"
#include "suites/pinn/reference.hpp"
#include "suites/pinn/solution.hpp"
#include "suites/pinn/ways.hpp"

namespace mgpu::pinn {

class PinnWorkload final : public CheckpointedWorkload<Problem>, public Tunable {
 public:
  // Throws Error(input), Error(usage), Error(out_of_memory).
  explicit PinnWorkload(const SuiteParams& params);

  WorkloadInterfaces interfaces() override {
    return {.iterative = this, .movable = this, .exchange = this, .tunable = this};
  }
  Demand demand(const DeviceTraits& device) const override;
  Capacity capacity(const DeviceTraits& device, Mode mode) const override;
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity& capacity) override;
  std::vector<std::string> kernel_variants(const DeviceTraits& device) const override {
    return names_of(ways(device, problem_), &Way::name);
  }
  Exchanged exchanged(Mode) const override { return {false, 0, 1, exchanged_bytes()}; }
  void connect(PeerGroup& group) override;
  void disconnect() override { sums_.free(); }
  void set_partition(std::span<const Owner> owners) override;
  bool repartition(std::span<const Owner> owners) override;
  void restart() override;
  std::string digest() const override;  // SHA-256 of parameters, moments and losses
  Verdict verify(VerifyLevel level, std::uint64_t seed) override;
  void write_result(const std::filesystem::path& file) const override;

  // For the programs, which may call from several threads at once.
  const Network& network() const { return network_; }
  std::span<const float> initial() const { return initial_; }  // parameters, means, squares
  struct Checkpoint {
    std::vector<float> state, losses;
  };
  Checkpoint& checkpoint(std::uint32_t steps) { return kept_[place(steps)]; }
  // Does whoever has these shards bring what all owners have?
  bool brings_state(const Slice& shards) const { return shards.begin == 0; }
  std::span<const Node> nodes() const { return nodes_; }  // of all owners
  const SharedRing& sums() const { return sums_; }
  // What an owner ends with: gradients of its shards, and parameters; of the first owner all there
  // is.
  void add_ending(const Slice& shards, const Ending& ending);

 private:
  const Findings& found();
  const Solution& solution() const;
  Bytes exchanged_bytes() const {
    return Network{problem_.layers, wide(problem_)}.stride() * sizeof(float);
  }

  Network network_;
  Check check_;
  std::vector<float> initial_;
  Checkpoint kept_[2];
  SharedRing sums_;
  std::vector<Node> nodes_;
  std::mutex mutex_;  // over outcome_
  Outcome outcome_;
  std::optional<std::vector<Loss>> replayed_;
  mutable std::optional<Solution> solution_;
  std::optional<Findings> found_;
  std::vector<float> found_of_;  // of these parameters
};

}  // namespace mgpu::pinn
