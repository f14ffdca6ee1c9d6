// One device's part of a Merkle tree: reduces slices of items to item roots, and item roots to the
// few nodes of the tree that this device owns whole.
#pragma once

#include "lib/workload/workload.hpp"
#include "suites/merkle/merkle_workload.hpp"
#include "suites/merkle/passes.hpp"

namespace mgpu::merkle {

class MerkleProgram : public DeviceProgram, public MergingProgram {
 public:
  // `fits`: items per slice at most. `workload` must outlive the program. Throws
  // Error(out_of_memory).
  MerkleProgram(MerkleWorkload& workload, DeviceResources& device, Mode mode, Items fits);

  ProgramInterfaces interfaces() override { return {.merging = this}; }
  void load(Stream& stream) override;
  void prepare(Stream& stream) override;
  void enqueue(const Slice& slice, unsigned slot, Stream& stream) override;
  Completion collect(Stream& stream) override;  // brings what was enqueued since the last collect
  Completion publish(Stream& stream) override;
  Completion merge(Stream& stream) override;

 private:
  void reduce_piece(Buffer& leaves, std::uint64_t first, Items begin, Items end, Stream& stream);
  void hash_leaves(Buffer& leaves, std::uint64_t first, std::uint64_t count, Bytes unused,
                   Stream& stream);
  void launch(const Pass& pass, const Segments& segments, Buffer& in, Buffer& out,
              std::uint64_t first, std::uint64_t out_first, Stream& stream,
              std::uint32_t unused_bits = 0);
  void launch_tasks(Buffer& rows, std::uint32_t flags, Stream& stream);
  void collect_cover(const Range& range);

  MerkleWorkload& workload_;
  const DeviceTraits traits_;
  const Mode mode_;
  const Layout layout_;
  const std::vector<Pass> passes_;
  const std::uint32_t odd_flag_;  // odd_twice if a level has a node without a partner
  std::unique_ptr<Kernel> reduce_, group_, hash_leaves_;  // group_: only on GPUs
  std::unique_ptr<Buffer> leaves_[2], digests_, scratch_[2], item_roots_, nodes_, tasks_, rows_;

  std::vector<Range> pending_, owned_;  // items enqueued since the last collect; since prepare
  // Host memory of transfers in flight.
  std::vector<Partial> collected_;  // without their digests until these are here
  std::vector<std::uint32_t> task_words_, row_words_, node_words_, published_words_;
};

}  // namespace mgpu::merkle
