// A stream of batches of records that go through a chain of stages, as a Workload: records and
// results in host memory, what stages were measured to take, verification. Who does what is a
// choice of two:
//
// - `data`: items are batches, and every device does all stages of those it is given. Any strategy
// hands them out (data_program.hpp).
// - `pipeline`: items are stages, and a round is a batch: a device keeps consecutive stages for a
//   whole sample, and hands each batch to the device that has the next ones (chain_program.hpp).
//   Strategies say how many stages each device has: `equal` as many as the others, those that go by
//   what was measured (`capability`, `latency`, `adaptive`) so that all take least
//   (lib/plan/chain.hpp).
//
// `--place auto` is settled before a workload is made (placement.hpp); where nothing can be
// measured, it is `data`. Both run the same kernels on the same batches, so that results have the
// same bits.
#pragma once

#include <map>

#include "suites/common/iterative.hpp"
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

  // Are called by programs, on several threads at once.
  std::span<const std::byte> records() const { return {pages_.data(), problem_.in_bytes()}; }
  std::span<std::byte> results() const { return results_; }
  // On each device two batches that come from the one before; null: there is no group.
  SharedMemory* mail() { return mail_.get(); }

 private:
  bool by_stages() const { return problem_.place == Place::stages; }
  void note_times(const std::string& device, const std::optional<StageTimes>& times);
  const StageTimes* times_on(const std::string& device) const;
  bool has_local_memory(const DeviceTraits& device,
                        Capacity& capacity) const;  // false: `capacity` says why
  // Returns the capacity of a device that keeps all records and results, and what lies between
  // stages.
  Capacity capacity_of_all(const DeviceTraits& device) const;
  void add_findings(Verdict& verdict) const;
  std::string placement_words() const;

  std::unique_ptr<SharedMemory> mail_;
  // Holds what stages take, by device, in the order of the set; noted when programs are made.
  std::vector<std::pair<std::string, StageTimes>> times_;
  std::map<std::pair<bool, std::string>, Verdict>
      verified_;  // by whether it was whole, and the digest
};

}  // namespace mgpu::pipeline
