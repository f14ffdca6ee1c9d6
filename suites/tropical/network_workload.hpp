// Training of a tropical network as an iterative Workload: items are samples, a round is a step,
// after which devices exchange the sums of their samples' gradients. network_program.hpp has what
// runs on a device.
#pragma once

#include <mutex>
#include <vector>

#include "suites/common/iterative.hpp"
#include "suites/tropical/network_reference.hpp"

namespace mgpu::tropical {

class NetworkWorkload final : public PartitionedWorkload<Network> {
 public:
  // Throws Error(input), Error(usage), Error(out_of_memory).
  explicit NetworkWorkload(const SuiteParams& params);

  WorkloadInterfaces interfaces() override { return {.iterative = this, .exchange = this}; }
  Demand demand(const DeviceTraits& device) const override;
  Capacity capacity(const DeviceTraits& device, Mode mode) const override;
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity& capacity) override;
  Exchanged exchanged(Mode) const override { return {false, 0, problem_.steps, place_bytes()}; }
  void connect(PeerGroup& group) override {
    sums_.allocate(group, place_bytes() * std::max<std::size_t>(group.size(), 1));
  }
  void disconnect() override { sums_.free(); }
  void begin_sample() override;
  Verdict verify(VerifyLevel level, std::uint64_t seed) override;
  void write_result(const std::filesystem::path& file) const override;

  // Called by the programs, possibly from several threads at once.
  Samples samples() const;
  const std::vector<float>& initial() const { return initial_; }
  // Returns the memory for the sums of each owner in its place, in the order of the owners.
  const SharedRing& sums() const { return sums_; }
  // Size of a place: a gradient and two words of loss, in whole units of 16 bytes.
  Bytes place_bytes() const { return round_up((problem_.weights() + 2) * 4, 16); }
  // Takes the result of an owner. All owners must have the same.
  void add_share(const Slice& samples, std::span<const std::byte> result);

 private:
  std::span<const float> after() const;   // weights after all steps
  std::span<const float> before() const;  // those before the last step
  std::uint64_t loss(std::uint32_t step) const;
  std::string first_wrong(bool whole);
  void replay(std::uint32_t steps, const HostWork& work);
  Findings findings() const;

  std::vector<float> initial_;
  SharedRing sums_;
  std::mutex mutex_;  // guards the results of owners
  bool differ_ = false, has_result_ = false;
  // The reference's losses of the first steps, and its weights after them.
  std::vector<std::uint64_t> replayed_;
  std::vector<float> replayed_weights_;
};

}  // namespace mgpu::tropical
