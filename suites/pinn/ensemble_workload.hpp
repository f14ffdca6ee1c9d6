// Trainings of networks that differ by their seeds, as a Workload. A member is an item, which one
// device trains from beginning to end. ensemble_program.hpp has what runs on a device.
#pragma once

#include <map>

#include "suites/pinn/networks_workload.hpp"

namespace mgpu::pinn {

class EnsembleWorkload final : public NetworksWorkload {
 public:
  // Throws Error(usage), Error(out_of_memory).
  explicit EnsembleWorkload(const SuiteParams& params) : NetworksWorkload(params) {}

  WorkloadInterfaces interfaces() override { return {.tunable = this}; }
  Capacity capacity(const DeviceTraits& device, Mode mode) const override;
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity& capacity) override;
  Exchanged exchanged(Mode) const override { return {}; }
  void connect(PeerGroup&) override {}
  void disconnect() override {}
  Verdict verify(VerifyLevel level, std::uint64_t seed) override;
  // Writes the member nearest to the solution.
  void write_result(const std::filesystem::path& file) const override;

 private:
  std::string first_wrong(std::uint64_t member, std::uint64_t seed);
  const std::vector<double>& errors();  // errors of all members
  Findings findings();

  std::map<std::uint64_t, Check> checks_;  // by member; each caches its expected values
  std::map<std::uint64_t, std::vector<Loss>> replayed_;  // by member
  std::vector<double> errors_;
  std::string errors_of_;  // digest of the results that errors_ belongs to
};

}  // namespace mgpu::pinn
