// Merkle trees as a Workload: what devices hand over, how it is merged, and how the roots are
// verified. The device part is in merkle_program.hpp.
#pragma once

#include <mutex>
#include <optional>

#include "lib/workload/workload.hpp"
#include "suites/merkle/leaves.hpp"
#include "suites/merkle/tree.hpp"

namespace mgpu::merkle {

Shape shape_of(const Rules& rules, const Geometry& geometry);

class MerkleWorkload : public Workload, public DeviceMerge, public TimedMerge {
 public:
  // `leaves`: those of `trees` trees of one size, one tree after the other.
  MerkleWorkload(const Rules& rules, Leaves leaves, unsigned host_threads, std::uint64_t trees = 1);

  // Merging many trees takes no time to plan by: few nodes lie above the cuts between devices.
  WorkloadInterfaces interfaces() override {
    if (geometry_.trees > 1) return {};
    return {.device_merge = this, .timed_merge = this};
  }
  const Shape& shape() const override { return shape_; }
  Demand demand(const DeviceTraits& device) const override;
  Capacity capacity(const DeviceTraits& device, Mode mode) const override;
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity& capacity) override;
  std::span<const std::byte> transfer_memory() const override { return leaves_.bytes(); }
  void begin_sample() override;
  bool merge_on_device(const DeviceTraits& best, Nanos per_part) const override;
  void rehearse_merge(std::size_t parts) override;
  void merge() override;
  std::string digest() const override;
  Verdict verify(VerifyLevel level, std::uint64_t seed) override;
  void write_result(const std::filesystem::path& file) const override;

  // Called by programs. The add_ functions may be called from several threads at once, in any
  // order.
  const Rules& rules() const { return rules_; }
  const Geometry& geometry() const { return geometry_; }
  const Leaves& leaves() const { return leaves_; }
  void add_partials(std::span<const Partial> partials);
  void add_item_roots(Items first, std::span<const Digest> roots);
  // Returns all partials along one fixed tree, for the device that merges.
  std::vector<Partial> frontier() const;
  void set_roots(std::vector<Digest> roots);

 private:
  Verdict verify_full();
  Verdict verify_sample(std::uint64_t seed);
  Digest item_by_reference(Items item) const;
  std::string name_of(Items item) const;

  Rules rules_;
  Leaves leaves_;
  unsigned host_threads_;
  Geometry geometry_;
  Shape shape_;
  mutable std::mutex mutex_;           // guards partials_, whole_trees_ and item_roots_
  std::vector<PartialTree> partials_;  // by tree; none if items are whole trees
  std::vector<std::optional<Digest>> whole_trees_;  // their roots then
  std::vector<std::optional<Digest>> item_roots_;   // as devices published them
  std::vector<Digest> roots_, reference_roots_;     // by tree; empty: not known yet
};

}  // namespace mgpu::merkle
