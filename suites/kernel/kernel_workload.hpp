// The kernel suite as a Workload: arrays in host memory, the single-device reference, digest and
// verification. kernel_program.hpp has what runs on a device.
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
    for (SharedRing& sums : shared_sums_) sums.free();
    shared_flags_.free();
  }
  void set_partition(std::span<const Owner> owners) override {
    owners_.assign(owners.begin(), owners.end());
  }
  void begin_sample() override;
  // The fastest remaining device combines partial results if the combination is a kernel.
  bool merges_on_host() const override { return !problem_.combines(); }
  void merge() override;
  // Returns the SHA-256 of the outputs' bytes, in the order of the arguments. A result within the
  // tolerance has the digest of the single-device reference.
  std::string digest() const override;
  Verdict verify(VerifyLevel level, std::uint64_t seed) override;
  void write_result(const std::filesystem::path& file) const override;

  // Called by the programs, possibly from several threads at once.
  const Problem& problem() const { return problem_; }
  std::span<std::byte> memory() { return {pages_.data(), problem_.host_bytes}; }
  const std::byte* zeros(Bytes length) const;  // at least `length` bytes
  std::uint64_t sample() const { return sample_; }
  std::span<const Owner> owners() const { return owners_; }
  // Returns, per field, the states of the peer group that devices write halo items into; they are
  // empty if there is no group.
  std::span<const SharedRing> shared() const { return shared_; }
  // Memory of the peer group for the devices' flags (repeat.while).
  const SharedRing& shared_flags() const { return shared_flags_; }
  // Memory of the peer group for the devices' accumulators, one per argument; empty if there is no
  // group.
  std::span<const SharedRing> shared_sums() const { return shared_sums_; }
  // Returns how stages of a level use an argument in a round (Problem::use_of). The kernels of the
  // first device decide for all, so that all devices exchange alike.
  std::optional<Access> use_of(const Launches& launches, std::size_t argument, std::uint32_t level,
                               std::uint32_t round);
  // Runs the guarded trial slices, and computes the single-device reference if it is not known yet.
  // Throws Error(input).
  void try_on(DeviceResources& device, Launches& launches, Items fits);
  void arrived(const Slice& slice, const std::string& device);
  // Replaces all arrivals of a device, some of which may have been reported before.
  void arrived_instead(std::span<const Slice> slices, const std::string& device);
  void add_sums(std::size_t argument, const std::string& device, std::span<const std::byte> sums);
  void add_block(std::size_t argument, Items block, std::span<const std::byte> sums);
  // Returns the accumulators of all blocks, stride() bytes apart, of an argument that a kernel
  // combines. Must not run concurrently with other calls.
  std::span<const std::byte> partials(std::size_t argument) const { return partials_[argument]; }
  void merge_operations();  // combines those that need no kernel
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
  std::string compare(const Results& expected, const char* what) const;  // empty: no difference
  std::string run_command(const std::string& digest);
  Items piece_of_pipeline() const;

  const SuiteParams params_;
  Problem problem_;
  Shape shape_;
  unsigned host_threads_;
  Pages pages_;
  std::vector<std::byte> zeros_;
  std::vector<SharedRing> shared_, shared_sums_;
  SharedRing shared_flags_;
  std::vector<std::vector<bool>> writes_;  // by stage and argument; empty: not known yet
  std::vector<Owner> owners_;
  std::uint64_t sample_ = 0;
  bool looked_at_ = true;  // result was verified; a stale one must not pass again
  std::mutex mutex_;       // guards all members below
  std::vector<Arrival> arrived_;
  std::map<std::pair<std::size_t, std::string>, std::vector<std::byte>> sums_;
  std::map<std::pair<std::size_t, Items>, std::vector<std::byte>> blocks_;
  // One per argument; empty if no kernel combines it.
  std::vector<std::vector<std::byte>> partials_;
  std::string damage_;
  std::vector<std::string> doubts_;  // reasons why a wrong map may go unnoticed
  std::set<std::string> tried_;      // devices that were tried
  std::size_t slices_tried_ = 0;     // most slices that a device was tried with
  Results expected_, files_;         // empty if unknown
  Results first_round_;              // result of one round, if there are several; else empty
  std::string expected_by_;
  // Bytes that no kernel writes: in all rounds, and in the first.
  std::vector<std::vector<bool>> unwritten_, first_unwritten_;
  std::map<std::string, std::string> commands_;  // answer of the user's check, by digest
};

}  // namespace mgpu::kernel
