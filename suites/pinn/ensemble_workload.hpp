// Trainings of networks that differ by their seeds, as a Workload: a member is an item, which one
// device trains from beginning to end. What runs on a device is in ensemble_program.hpp.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/workload/workload.hpp"
#include "suites/common/arrivals.hpp"
#include "suites/common/variants.hpp"
#include "suites/pinn/outcome.hpp"
#include "suites/pinn/reference.hpp"
#include "suites/pinn/solution.hpp"
#include "suites/pinn/ways.hpp"

namespace mgpu::pinn {

class EnsembleWorkload final : public Workload, public Tunable {
 public:
  // Throws Error(usage), Error(out_of_memory).
  explicit EnsembleWorkload(const SuiteParams& params);

  WorkloadInterfaces interfaces() override { return {.tunable = this}; }
  const Shape& shape() const override { return shape_; }
  Demand demand(const DeviceTraits& device) const override;
  Capacity capacity(const DeviceTraits& device, Mode mode) const override;
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity& capacity) override;
  std::vector<std::string> kernel_variants(const DeviceTraits& device) const override {
    return names_of(ways(device, problem_), &Way::name);
  }
  std::span<const std::byte> transfer_memory() const override { return {}; }
  void begin_sample() override;
  void merge() override {}
  std::string digest() const override;  // SHA-256 of all members' parameters, moments and losses
  Verdict verify(VerifyLevel level, std::uint64_t seed) override;
  void write_result(const std::filesystem::path& file)
      const override;  // of the member that is nearest to the solution

  // For the programs, which may call from several threads at once.
  const Problem& problem() const { return problem_; }
  const Network& network() const { return network_; }
  std::span<const float> initial(std::uint64_t member) const;  // parameters, means, squares
  // What a member ends with; without gradients of its shards.
  void arrived(std::uint64_t member, Ending ending);

 private:
  std::string first_wrong(std::uint64_t member, std::uint64_t seed);
  const std::vector<double>& errors();  // of all members
  Findings findings();

  Problem problem_;
  Network network_;
  Shape shape_;
  unsigned host_threads_;
  std::vector<float> initial_;
  Arrivals arrivals_;
  std::vector<Ending> members_;
  std::map<std::uint64_t, Check> checks_;                // by member: each knows what it has found
  std::map<std::uint64_t, std::vector<Loss>> replayed_;  // likewise
  std::optional<Solution> solution_;
  std::vector<double> errors_;
  std::string errors_of_;  // this digest
};

}  // namespace mgpu::pinn
