// A domain in parts along the first input, with a network each, as a Workload: parts are items, and
// neighbours exchange what they are at each other's ends after every step (overlapping Schwarz,
// with networks: Li, Tang, Wu, Liao: D3M, IEEE Access 8, 2020). Another problem than that of one
// network: what comes out depends on the number of parts, and not on that of devices.
#pragma once

#include <mutex>
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

class DomainWorkload final : public Workload,
                             public IterativeWorkload,
                             public PeerExchange,
                             public Tunable {
 public:
  // Throws Error(usage), Error(out_of_memory).
  explicit DomainWorkload(const SuiteParams& params);

  WorkloadInterfaces interfaces() override {
    return {.iterative = this, .exchange = this, .tunable = this};
  }
  const Shape& shape() const override { return shape_; }
  Demand demand(const DeviceTraits& device) const override;
  Capacity capacity(const DeviceTraits& device, Mode mode) const override;
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity& capacity) override;
  std::vector<std::string> kernel_variants(const DeviceTraits& device) const override {
    return names_of(ways(device, part(0)), &Way::name);
  }
  std::span<const std::byte> transfer_memory() const override { return {}; }
  Exchanged exchanged(Mode) const override {
    return {false, 0, 1, problem_.points_of_end() * sizeof(float)};
  }
  void connect(PeerGroup& group) override;
  void disconnect() override;
  void set_partition(std::span<const Owner> owners) override {
    owners_.assign(owners.begin(), owners.end());
  }
  void begin_sample() override;
  void merge() override {}
  std::string digest() const override;  // SHA-256 of all parts' parameters, moments and losses
  Verdict verify(VerifyLevel level, std::uint64_t seed) override;
  void write_result(const std::filesystem::path& file) const override;

  // For the programs, which may call from several threads at once.
  const Problem& problem() const { return problem_; }
  Problem part(std::uint64_t number) const { return problem_.part(number); }
  std::span<const float> initial(std::uint64_t part) const;  // parameters, means, squares
  std::uint64_t sample() const { return arrivals_.sample(); }
  std::span<const Owner> owners() const { return owners_; }
  bool shares(const Slice& parts) const;  // are there other owners in this sample?
  SharedMemory* values(unsigned turn) { return values_[turn].get(); }
  // Numbers that are exchanged: those of an end of a part begin here.
  std::uint64_t values_of(std::uint64_t part, unsigned end) const {
    return (2 * part + end) * problem_.points_of_end();
  }
  std::uint64_t all_values() const { return values_of(problem_.parts, 0); }
  // What a part ends with; without gradients of its shards.
  void arrived(std::uint64_t part, Ending ending);
  const Ending& ending(std::uint64_t part) const { return parts_[part]; }

 private:
  std::vector<Collocation> points_of(std::uint64_t part, std::uint32_t step, bool last) const;
  std::string first_wrong(std::uint64_t part, std::uint64_t seed) const;
  Solution found() const;
  double greatest_step() const;
  Findings findings();

  Problem problem_;
  Network network_;
  Shape shape_;
  unsigned host_threads_;
  std::vector<float> initial_;
  Arrivals arrivals_;
  std::unique_ptr<SharedMemory> values_[2];
  std::vector<Owner> owners_;
  std::vector<Ending> parts_;
  std::optional<Solution> solution_;
};

}  // namespace mgpu::pinn
