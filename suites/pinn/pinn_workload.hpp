// One training as a Workload: partition of the shards, verification. training_program.hpp has what
// runs on a device.
#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "suites/pinn/networks_workload.hpp"
#include "suites/pinn/nodes.hpp"

namespace mgpu::pinn {

class PinnWorkload final : public NetworksWorkload {
 public:
  // Throws Error(input), Error(usage), Error(out_of_memory).
  explicit PinnWorkload(const SuiteParams& params);

  WorkloadInterfaces interfaces() override {
    return {.iterative = this, .movable = this, .exchange = this, .tunable = this};
  }
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
  const SharedRing& sums() const { return sums_; }
  // Takes an owner's final state: gradients of its shards and parameters; the first owner's is
  // complete.
  void add_share(const Slice& shards, const Ending& ending);

 private:
  const Findings& found();
  Bytes exchanged_bytes() const {
    return Network{problem_.layers, wide(problem_)}.stride() * sizeof(float);
  }

  Ending& whole() { return endings_.front(); }
  const Ending& whole() const { return endings_.front(); }

  Check check_;
  Checkpoint kept_[2];
  SharedRing sums_;
  std::vector<Node> nodes_;
  std::mutex mutex_;                            // guards endings_ and the members below
  std::vector<std::vector<float>> parameters_;  // final parameters of all owners
  std::optional<std::vector<Loss>> replayed_;
  std::optional<Findings> found_;
  std::vector<float> found_of_;  // parameters that found_ belongs to
};

}  // namespace mgpu::pinn
