// A stream of batches of records that go through a chain of stages, as a Workload: records and
// results in host memory, what stages were measured to take, verification. Who does what is a
// choice of two:
//
// - `data`: items are batches, and every device does all stages of those it is given. Any strategy
// hands them out (DataWorkload).
// - `pipeline`: items are stages, and a round is a batch: a device keeps consecutive stages for a
// whole sample, and hands each
//   batch to the device that has the next ones (ChainWorkload). Strategies say how many stages each
//   device has: `equal` as many as the others, those that go by what was measured (`capability`,
//   `latency`, `adaptive`) so that all take least (lib/plan/chain.hpp).
//
// `--place auto` is settled before a workload is made (placement.hpp); where nothing can be
// measured, it is `data`. Both run the same kernels on the same batches, so that results have the
// same bits.
#pragma once

#include <map>

#include "lib/workload/pages.hpp"
#include "suites/common/arrivals.hpp"
#include "suites/pipeline/placement.hpp"

namespace mgpu::pipeline {

class PipelineWorkload : public Workload, public Tunable {
 public:
  WorkloadInterfaces interfaces() override { return {.tunable = this}; }
  const Shape& shape() const override { return shape_; }
  Demand demand(const DeviceTraits& device) const override;
  std::vector<std::string> kernel_variants(const DeviceTraits& device) const override;
  std::span<const std::byte> transfer_memory() const override {
    return {pages_.data(), host_bytes(problem_)};
  }
  void begin_sample() override { arrivals_.begin_sample(results()); }
  void merge() override {}
  std::string digest() const override;  // SHA-256 of the bytes of the results
  Verdict verify(VerifyLevel level, std::uint64_t seed) override;
  void write_result(const std::filesystem::path& file) const override;

  // For the programs, which may call from several threads at once.
  const Problem& problem() const { return problem_; }
  std::span<const std::byte> records() const { return {pages_.data(), problem_.in_bytes()}; }
  std::span<std::byte> results() {
    return {pages_.data() + in_pages(problem_.in_bytes()), problem_.out_bytes()};
  }
  std::span<const std::byte> results() const {
    return {pages_.data() + in_pages(problem_.in_bytes()), problem_.out_bytes()};
  }
  Arrivals& arrivals() { return arrivals_; }  // batches

 protected:
  // Throws Error(input), Error(usage), Error(out_of_memory).
  PipelineWorkload(const Problem& problem, const SuiteParams& params);
  // What stages take on a device, by its id; when a program is made.
  void note_times(const std::string& device, const std::optional<StageTimes>& times);
  const StageTimes* times_on(const std::string& device) const;
  bool has_local_memory(const DeviceTraits& device,
                        Capacity& capacity) const;         // false: `capacity` says why
  std::size_t group_on(const DeviceTraits& device) const;  // work-items of a work-group
  // Of a device that keeps all records and results, and what lies between stages; `more` bytes
  // besides.
  Capacity capacity_of_all(const DeviceTraits& device, Items items, Bytes more) const;

  Problem problem_;
  Shape shape_;

 private:
  void add_findings(Verdict& verdict) const;
  std::string placement_words() const;

  unsigned host_threads_;
  Pages pages_;
  Arrivals arrivals_;
  std::vector<std::pair<std::string, StageTimes>> times_;  // by device, in the order of the set
  std::map<std::pair<bool, std::string>, Verdict>
      verified_;  // by whether it was whole, and the digest
};

class DataWorkload final : public PipelineWorkload {
 public:
  DataWorkload(const Problem& problem, const SuiteParams& params)
      : PipelineWorkload(problem, params) {}
  Capacity capacity(const DeviceTraits& device, Mode mode) const override;
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity& capacity) override;
};

class ChainWorkload final : public PipelineWorkload,
                            public IterativeWorkload,
                            public StagedWorkload,
                            public PeerExchange {
 public:
  ChainWorkload(const Problem& problem, const SuiteParams& params)
      : PipelineWorkload(problem, params) {}
  WorkloadInterfaces interfaces() override {
    return {.iterative = this, .staged = this, .exchange = this, .tunable = this};
  }
  Capacity capacity(const DeviceTraits& device, Mode mode) const override;
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity& capacity) override;
  Exchanged exchanged(Mode) const override {
    return {false, 0, shape_.rounds, problem_.most_handed_over()};
  }
  void connect(PeerGroup& group) override {
    mail_ = group.allocate(2 * problem_.most_handed_over());
  }
  void disconnect() override { mail_.reset(); }
  void set_partition(std::span<const Owner> owners) override {
    owners_.assign(owners.begin(), owners.end());
  }
  std::optional<ChainEstimate> chain(std::span<const std::string> devices) const override;

  const std::vector<Owner>& owners() const { return owners_; }
  SharedMemory* mail() {
    return mail_.get();
  }  // on each device two batches that come from the one before; null: there is no group

 private:
  std::unique_ptr<SharedMemory> mail_;
  std::vector<Owner> owners_;
};

}  // namespace mgpu::pipeline
