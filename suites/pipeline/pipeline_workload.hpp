// A stream of batches of records that go through a chain of stages, as a Workload: records and
// results in host memory, measured times of the stages, verification. The work is divided in one of
// two ways:
//
// - `data`: items are batches, and every device does all stages of its batches. Any strategy
//   distributes them (data_program.hpp).
// - `pipeline`: items are stages, and a round is a batch. A device keeps consecutive stages for a
//   whole sample, and passes each batch to the device with the next stages (chain_program.hpp).
//   Strategies choose the number of stages per device: `equal` the same number, those that use
//   measurements (`capability`, `latency`, `adaptive`) the numbers with the shortest time
//   (lib/plan/chain.hpp).
//
// `--place auto` is resolved before a workload is made (placement.hpp); if nothing can be measured,
// it is `data`. Both run the same kernels on the same batches, so their results have the same bits.
#pragma once

#include "suites/common/iterative.hpp"
#include "suites/common/passed_verdicts.hpp"
#include "suites/pipeline/placement.hpp"

namespace mgpu::pipeline {

class PipelineWorkload final : public PartitionedWorkload<Problem>,
                               public StagedWorkload,
                               public Tunable {
 public:
  // Throws Error(input), Error(usage), Error(out_of_memory).
  PipelineWorkload(const Problem& problem, const SuiteParams& params);

  WorkloadInterfaces interfaces() override {
    if (!by_stages()) return {.tunable = this};
    return {.iterative = this, .staged = this, .exchange = this, .tunable = this};
  }
  Demand demand(const DeviceTraits& device) const override;
  Capacity capacity(const DeviceTraits& device, Mode mode) const override;
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity& capacity) override;
  std::vector<std::string> kernel_variants(const DeviceTraits& device) const override;
  Exchanged exchanged(Mode) const override {
    return {false, 0, shape_.rounds, problem_.most_handed_over()};
  }
  void connect(PeerGroup& group) override {
    mail_ = group.allocate(2 * problem_.most_handed_over());
  }
  void disconnect() override { mail_.reset(); }
  std::optional<ChainEstimate> chain(std::span<const std::string> devices) const override;
  Verdict verify(VerifyLevel level, std::uint64_t seed) override;
  void write_result(const std::filesystem::path& file) const override;

  // Called by the programs, possibly from several threads at once.
  std::span<const std::byte> records() const { return {pages_.data(), problem_.in_bytes()}; }
  std::span<std::byte> results() const { return results_; }
  // Returns each device's two places for batches from the previous device; null if there is no
  // group.
  SharedMemory* mail() { return mail_.get(); }

 private:
  bool by_stages() const { return problem_.place == Place::stages; }
  void note_times(const std::string& device, const std::optional<StageTimes>& times);
  const StageTimes* times_on(const std::string& device) const;
  // Returns false with a reason in `capacity` if the device has too little.
  bool has_local_memory(const DeviceTraits& device, Capacity& capacity) const;
  bool has_room_for_fused(const DeviceTraits& device, Capacity& capacity) const;
  // Returns the capacity of a device that keeps all records and results, and the buffers between
  // stages.
  Capacity capacity_of_all(const DeviceTraits& device) const;
  void add_findings(Verdict& verdict) const;
  std::string placement_words() const;

  std::unique_ptr<SharedMemory> mail_;
  // Measured times of the stages, by device, in the order of the set; noted when programs are made.
  std::vector<std::pair<std::string, StageTimes>> times_;
  PassedVerdicts passed_;
};

}  // namespace mgpu::pipeline
