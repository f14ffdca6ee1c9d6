// One training as a Workload: what it begins with and ends with, who computes which shards, digest
// and verification. What runs on a device is in training_program.hpp.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "lib/workload/checkpoints.hpp"
#include "lib/workload/workload.hpp"
#include "suites/common/variants.hpp"
#include "suites/pinn/nodes.hpp"
#include "suites/pinn/outcome.hpp"
#include "suites/pinn/reference.hpp"
#include "suites/pinn/solution.hpp"
#include "suites/pinn/ways.hpp"

namespace mgpu::pinn {

class PinnWorkload final : public Workload,
                           public IterativeWorkload,
                           public MovableWorkload,
                           public PeerExchange,
                           public Tunable {
 public:
  // Throws Error(input), Error(usage), Error(out_of_memory).
  explicit PinnWorkload(const SuiteParams& params);

  WorkloadInterfaces interfaces() override {
    return {.iterative = this, .movable = this, .exchange = this, .tunable = this};
  }
  const Shape& shape() const override { return shape_; }
  Demand demand(const DeviceTraits& device) const override;
  Capacity capacity(const DeviceTraits& device, Mode mode) const override;
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity& capacity) override;
  std::vector<std::string> kernel_variants(const DeviceTraits& device) const override {
    return names_of(ways(device, problem_), &Way::name);
  }
  std::span<const std::byte> transfer_memory() const override { return {}; }
  Exchanged exchanged(Mode) const override { return {false, 0, 1, exchanged_bytes()}; }
  void connect(PeerGroup& group) override;
  void disconnect() override;
  void set_partition(std::span<const Owner> owners) override;
  bool repartition(std::span<const Owner> owners) override;
  void begin_sample() override;
  std::uint32_t checkpointed_rounds() const override { return checkpoints_.complete(); }
  void restart() override;
  bool may_checkpoint(std::uint32_t steps) const override { return checkpoints_.may_take(steps); }
  void merge() override {}
  std::string digest() const override;  // SHA-256 of parameters, moments and losses
  Verdict verify(VerifyLevel level, std::uint64_t seed) override;
  void write_result(const std::filesystem::path& file) const override;

  // For the programs, which may call from several threads at once.
  const Problem& problem() const { return problem_; }
  const Network& network() const { return network_; }
  std::span<const float> initial() const { return initial_; }  // parameters, means, squares
  struct Checkpoint {
    std::vector<float> state, losses;
  };
  Checkpoint& checkpoint(std::uint32_t steps) { return kept_[checkpoints_.place(steps)]; }
  void checkpointed(const Slice& shards, std::uint32_t steps) {
    checkpoints_.arrived(shards, steps);
  }
  std::uint32_t begun_from() const {
    return begun_from_;
  }  // steps done in the state that the sample begins with
  std::uint64_t sample() const { return sample_; }
  std::span<const Owner> owners() const { return owners_; }
  bool shares(const Slice& shards) const;  // are there other owners in this sample?
  // Does whoever has these shards bring what all owners have?
  bool brings_state(const Slice& shards) const { return shards.begin == 0; }
  std::span<const Node> nodes() const { return nodes_; }  // of all owners
  SharedMemory* sums(unsigned turn) { return sums_[turn].get(); }
  // What an owner ends with: gradients of its shards, and parameters; of the first owner all there
  // is.
  void arrived(const Slice& shards, const Ending& ending);

 private:
  const Findings& found();
  Bytes exchanged_bytes() const {
    return Network{problem_.layers, wide(problem_)}.stride() * sizeof(float);
  }

  Problem problem_;
  Network network_;
  Shape shape_;
  unsigned host_threads_;
  Check check_;
  std::vector<float> initial_;
  Checkpoints checkpoints_;
  Checkpoint kept_[2];
  std::uint32_t begun_from_ = 0;
  std::unique_ptr<SharedMemory> sums_[2];
  std::vector<Owner> owners_;
  std::vector<Node> nodes_;
  std::uint64_t sample_ = 0;
  std::mutex mutex_;  // over outcome_
  Outcome outcome_;
  std::optional<std::vector<Loss>> replayed_;
  std::optional<Solution> solution_;
  std::optional<Findings> found_;
  std::vector<float> found_of_;  // of these parameters
};

}  // namespace mgpu::pinn
