// One training as a Workload: partition of the shards, verification. training_program.hpp has what
// runs on a device.
#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "suites/pinn/compressed.hpp"
#include "suites/pinn/networks_workload.hpp"
#include "suites/pinn/nodes.hpp"

namespace mgpu::pinn {

class PinnWorkload final : public NetworksWorkload, public LiveWorkload {
 public:
  // Throws Error(input), Error(usage), Error(out_of_memory).
  explicit PinnWorkload(const SuiteParams& params);

  WorkloadInterfaces interfaces() override {
    return {.iterative = this, .movable = this, .exchange = this, .tunable = this, .live = this};
  }
  std::vector<LiveFigure> live_figures() const override;
  Capacity capacity(const DeviceTraits& device, Mode mode) const override;
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity& capacity) override;
  Exchanged exchanged(Mode) const override { return {false, 0, 1, exchanged_bytes()}; }
  void connect(PeerGroup& group) override;
  void disconnect() override { sums_.free(); }
  void set_partition(std::span<const Owner> owners) override;
  bool repartition(std::span<const Owner> owners) override;
  void restart() override;
  Verdict verify(VerifyLevel level, std::uint64_t seed) override;
  void write_result(const std::filesystem::path& file) const override;

  // Called by the programs, possibly from several threads at once.
  struct Checkpoint {
    std::vector<float> state, losses;
  };
  Checkpoint& checkpoint(std::uint32_t steps) { return kept_[place(steps)]; }
  // Tells whether the owner of these shards returns the state that all owners have.
  bool brings_state(const Slice& shards) const { return shards.begin == 0; }
  std::span<const Node> nodes() const { return nodes_; }  // nodes of all owners
  std::vector<Node> nodes_of_share(const Slice& shards) const {
    return problem_.compressed ? sent_nodes(problem_, shards) : nodes_of(shards.begin, shards.end);
  }
  const SharedRing& sums() const { return sums_; }
  void add_loss(std::uint32_t steps, double loss);  // of the sample under way
  // Takes an owner's final state: gradients of its shards and parameters; the first owner's is
  // complete.
  void add_share(const Slice& shards, const Ending& ending);

 private:
  const Findings& found();
  Bytes exchanged_bytes() const {
    const Network network{problem_.layers, wide(problem_)};
    return problem_.compressed ? wire_of(network.count()) * 2 : network.stride() * sizeof(float);
  }
  // Takes the residuals of the nodes that an owner of these shards computes.
  void add_residuals(const Slice& shards, const Residuals& residuals);

  Ending& whole() { return endings_.front(); }
  const Ending& whole() const { return endings_.front(); }

  Check check_;
  Checkpoint kept_[2];
  SharedRing sums_;
  std::vector<Node> nodes_;
  mutable std::mutex mutex_;                    // guards endings_ and the members below
  std::vector<std::vector<float>> parameters_;  // final parameters of all owners
  std::optional<LiveFigure> loss_;              // latest of the sample
  std::optional<std::vector<Loss>> replayed_;
  std::optional<Findings> found_;
  std::vector<float> found_of_;  // parameters that found_ belongs to
};

}  // namespace mgpu::pinn
