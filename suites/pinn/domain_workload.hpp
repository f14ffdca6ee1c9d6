// A domain in parts along the first input, with a network each, as a Workload. The parts are items.
// After every step, neighbours exchange their values at each other's ends (overlapping Schwarz with
// networks: Li, Tang, Wu, Liao: D3M, IEEE Access 8, 2020). It is a different problem from training
// one network: the result depends on the number of parts, not on that of devices.
#pragma once

#include "suites/pinn/networks_workload.hpp"

namespace mgpu::pinn {

class DomainWorkload final : public NetworksWorkload {
 public:
  // Throws Error(usage), Error(out_of_memory).
  explicit DomainWorkload(const SuiteParams& params) : NetworksWorkload(params) {}

  WorkloadInterfaces interfaces() override {
    return {.iterative = this, .exchange = this, .tunable = this};
  }
  Capacity capacity(const DeviceTraits& device, Mode mode) const override;
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity& capacity) override;
  Exchanged exchanged(Mode) const override {
    return {false, 0, 1, problem_.points_of_end() * sizeof(float)};
  }
  void connect(PeerGroup& group) override { values_.allocate(group, all_values() * sizeof(float)); }
  void disconnect() override { values_.free(); }
  Verdict verify(VerifyLevel level, std::uint64_t seed) override;
  void write_result(const std::filesystem::path& file) const override;

  // Called by the programs, possibly from several threads at once.
  const SharedRing& values() const { return values_; }
  // Returns the index of the first exchanged value of an end of a part.
  std::uint64_t values_of(std::uint64_t part, unsigned end) const {
    return (2 * part + end) * problem_.points_of_end();
  }
  std::uint64_t all_values() const { return values_of(problem_.parts, 0); }

 private:
  std::vector<Collocation> points_of(std::uint64_t part, std::uint32_t step, bool last) const;
  std::string first_wrong(std::uint64_t part, std::uint64_t seed) const;
  Solution found() const;
  double greatest_step() const;
  Findings findings();

  SharedRing values_;
};

}  // namespace mgpu::pinn
