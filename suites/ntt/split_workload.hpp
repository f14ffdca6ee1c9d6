// One transform that devices share, as an iterative Workload of two iterations: each device
// transforms its columns and sends the others their rows of them, then it transforms its rows.
#pragma once

#include "suites/common/iterative.hpp"
#include "suites/common/passed_verdicts.hpp"
#include "suites/ntt/passes.hpp"

namespace mgpu::ntt {

class SplitWorkload final : public PartitionedWorkload<Problem>, public Tunable {
 public:
  // Throws Error(input), Error(usage), Error(out_of_memory).
  SplitWorkload(const Problem& problem, const SuiteParams& params);

  WorkloadInterfaces interfaces() override {
    return {.iterative = this, .exchange = this, .tunable = this};
  }
  Demand demand(const DeviceTraits& device) const override;
  Capacity capacity(const DeviceTraits& device, Mode mode) const override;
  std::vector<std::string> kernel_variants(const DeviceTraits& device) const override;
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity& capacity) override;
  // Equal shares send each other a part of each row.
  Exchanged exchanged(Mode) const override {
    return {false, 0, 1, problem_.bytes() / (devices_ * devices_), problem_.way != Way::puts};
  }
  void connect(PeerGroup& group) override;
  void disconnect() override { landing_.free(); }
  void set_partition(std::span<const Owner> owners) override;
  Verdict verify(VerifyLevel level, std::uint64_t seed) override;
  void write_result(const std::filesystem::path& file) const override;

  // Called by programs, possibly from several threads at once.
  std::span<const std::byte> input() const { return {pages_.data(), problem_.bytes()}; }
  std::span<std::byte> result() const { return results_; }
  // Returns the memory for the columns of others: a device that has a part f of the rows gets
  // 1 - f of each, which is at most a quarter of all elements. Empty if there is no group.
  const SharedRing& landing() const { return landing_; }
  // Tells whether kernels of every device store columns into the memory of the others.
  bool stores_to_others() const { return stores_to_others_; }
  Bytes landing_bytes() const { return problem_.bytes() / 4; }

 private:
  const std::size_t devices_;
  SharedRing landing_;
  bool stores_to_others_ = false;
  PassedVerdicts passed_;
};

}  // namespace mgpu::ntt
