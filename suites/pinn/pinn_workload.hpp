// One training as a Workload: who computes which shards, verification. What runs on a device is in
// training_program.hpp.
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

  // For the programs, which may call from several threads at once.
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
  std::mutex mutex_;                            // over endings_ and those below
  std::vector<std::vector<float>> parameters_;  // that owners end with
  std::optional<std::vector<Loss>> replayed_;
  std::optional<Findings> found_;
  std::vector<float> found_of_;  // of these parameters
};

}  // namespace mgpu::pinn
