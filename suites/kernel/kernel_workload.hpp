// One problem as a Workload: its arrays in host memory, what one device alone makes of them, digest
// and verification. What runs on a device is in kernel_program.hpp.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "lib/workload/pages.hpp"
#include "suites/common/iterative.hpp"
#include "suites/kernel/trial.hpp"

namespace mgpu::kernel {

class KernelWorkload final : public Workload,
                             public IterativeWorkload,
                             public PeerExchange,
                             public DeviceMerge {
 public:
  // Throws Error(input), Error(usage), Error(out_of_memory).
  explicit KernelWorkload(const SuiteParams& params);

  WorkloadInterfaces interfaces() override {
    return {
        .iterative = shape_.rounds > 0 ? this : nullptr, .exchange = this, .device_merge = this};
  }
  const Shape& shape() const override { return shape_; }
  Demand demand(const DeviceTraits& device) const override;
  Capacity capacity(const DeviceTraits& device, Mode mode) const override;
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity& capacity) override;
  std::span<const std::byte> transfer_memory() const override {
    return {pages_.data(), problem_.host_bytes};
  }
  Exchanged exchanged(Mode mode) const override;
  void connect(PeerGroup& group) override;
  void disconnect() override {
    for (SharedRing& states : shared_) states.free();
  }
  void set_partition(std::span<const Owner> owners) override {
    owners_.assign(owners.begin(), owners.end());
  }
  void begin_sample() override;
  // Where a kernel combines partial results, they are so on the fastest device that is left.
  bool merges_on_host() const override { return !problem_.combines(); }
  void merge() override;
  std::string digest()
      const override;  // SHA-256 of the outputs' bytes, in the order of the arguments; within a
                       // tolerance of what one device alone makes: of that
  Verdict verify(VerifyLevel level, std::uint64_t seed) override;
  void write_result(const std::filesystem::path& file) const override;

  // For the programs, which may call from several threads at once.
  const Problem& problem() const { return problem_; }
  std::span<std::byte> memory() { return {pages_.data(), problem_.host_bytes}; }
  const std::byte* zeros(Bytes length) const;  // at least so many
  std::uint64_t sample() const { return sample_; }
  std::span<const Owner> owners() const { return owners_; }
  // Returns by swap the states that devices of the group put items into; empty ones: there is no
  // group.
  std::span<const SharedRing> shared() const { return shared_; }
  // Guards, and what one device alone makes of all items, where that is not known. Throws
  // Error(input).
  void try_on(DeviceResources& device, Launches& launches, Items fits);
  void arrived(const Slice& slice, const std::string& device);
  void arrived_instead(std::span<const Slice> slices,
                       const std::string& device);  // all of a device's, some perhaps told before
  void add_sums(std::size_t argument, const std::string& device, std::span<const std::byte> sums);
  void add_block(std::size_t argument, Items block, std::span<const std::byte> sums);
  // Of an accumulator that a kernel combines: those of all blocks, stride() bytes apart. While
  // nothing else is under way.
  std::span<const std::byte> partials(std::size_t argument) const { return partials_[argument]; }
  void merge_operations();  // what no kernel combines
  void damaged(const std::string& what);

 private:
  std::vector<std::string> caveats() const;
  void try_once(const std::string& id, DeviceResources& device, Launches& launches, Items fits);
  struct Arrival {
    Slice slice;
    std::string device;
  };
  std::span<std::byte> result(const Argument& one) const {
    return {pages_.data() + one.result, one.bytes()};
  }
  std::string who_made(const Argument& one, std::uint64_t element) const;
  std::string compare(const Results& expected, const char* what) const;  // empty: all is well
  std::string run_command(const std::string& digest);
  Items piece_of_pipeline() const;

  Problem problem_;
  Shape shape_;
  unsigned host_threads_;
  Pages pages_;
  std::vector<std::byte> zeros_;
  std::vector<SharedRing> shared_;
  std::vector<Owner> owners_;
  std::uint64_t sample_ = 0;
  bool looked_at_ = true;  // the result was verified: a stale one must not pass again
  std::mutex mutex_;       // over all below
  std::vector<Arrival> arrived_;
  std::map<std::pair<std::size_t, std::string>, std::vector<std::byte>> sums_;
  std::map<std::pair<std::size_t, Items>, std::vector<std::byte>> blocks_;
  std::vector<std::vector<std::byte>> partials_;  // by argument; empty: no kernel combines it
  std::string damage_;
  std::vector<std::string> doubts_;  // reasons why a wrong map may pass
  std::set<std::string> tried_;      // devices
  Results expected_, files_;         // empty: not known
  Results first_round_;              // likewise, where there are more
  std::string expected_by_;
  std::vector<std::vector<bool>> unwritten_;
  std::map<std::string, std::string> commands_;  // what the user's check said, by digest
};

}  // namespace mgpu::kernel
