// One device's part of an empirical Fisher matrix: blocks of rows become partial matrices, which
// are added up along the tree into as few as possible.
#pragma once

#include "suites/fisher/gram_kernels.hpp"
#include "suites/fisher/gram_layout.hpp"
#include "suites/fisher/gram_workload.hpp"

namespace mgpu::fisher {

class GramProgram : public DeviceProgram, public CombiningProgram {
 public:
  // `fits`: items per slice at most. `workload` must outlive the program. Throws
  // Error(out_of_memory), Error(device).
  GramProgram(GramWorkload& workload, DeviceResources& device, Mode mode, Items fits);

  ProgramInterfaces interfaces() override { return {.combining = this}; }
  void load(Stream& stream) override;
  void prepare(Stream& stream) override;
  void enqueue(const Slice& slice, unsigned slot, Stream& stream) override;
  Completion collect(Stream& stream) override;
  Completion bring(bool together, Stream& stream) override;
  std::string kernel_variant() const override {
    return kernels_.soft ? "fp64 sums in integer arithmetic" : "";
  }

 private:
  void hand_over();  // passes on the nodes that are on the host
  void upload_rows(std::uint64_t first, std::uint64_t end, unsigned slot, Stream& stream);
  void upload_params(Stream& stream);
  void compute_piece(Items first, Items end, std::uint64_t buffer_start, unsigned slot,
                     Stream& stream);
  void make_scores(std::uint64_t first, std::uint64_t rows, unsigned slot, Stream& stream);
  void combine_piece(Items first, Items end, Stream& stream);
  bool combines_with_others() const {
    return place_ && workload_.gram_exchange()->combines(*place_);
  }
  void combine_nodes(NodeForest& forest, const Part& elements, Stream& stream);
  void divide_root(const NodeForest& forest, const Part& elements, Stream& stream);
  void bring_nodes(Stream& stream);
  void combine_node(const block_tree::TreeNode& node, std::uint64_t first_block, Stream& stream);

  GramWorkload& workload_;
  const Problem& problem_;
  const Blocks& blocks_;
  std::size_t local_ = 256;  // work-group size of kernels that go through elements
  const Mode mode_;
  const GramKernels kernels_;
  const GramLayout layout_;
  std::unique_ptr<Buffer> input_[2], params_, scores_, probabilities_, partials_, own_nodes_;
  Buffer* nodes_ = nullptr;           // own_nodes_, or memory that other devices put theirs into
  std::optional<DeviceIndex> place_;  // its index in the peer group; empty if in none

  NodeForest forest_;  // nodes since prepare, or the last collect
  std::vector<GramWorkload::Landing> landed_;
};

}  // namespace mgpu::fisher
