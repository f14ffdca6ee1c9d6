// Trainings of networks that differ by their seeds, as a Workload: a member is an item, which one
// device trains from beginning to end. What runs on a device is in ensemble_program.hpp.
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
  void write_result(const std::filesystem::path& file)
      const override;  // of the member that is nearest to the solution

 private:
  std::string first_wrong(std::uint64_t member, std::uint64_t seed);
  const std::vector<double>& errors();  // of all members
  Findings findings();

  std::map<std::uint64_t, Check> checks_;                // by member: each knows what it has found
  std::map<std::uint64_t, std::vector<Loss>> replayed_;  // likewise
  std::vector<double> errors_;
  std::string errors_of_;  // this digest
};

}  // namespace mgpu::pinn
