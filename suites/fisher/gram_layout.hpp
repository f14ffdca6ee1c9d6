// Use of a device by one empirical Fisher matrix: its memory, slices in pieces, and the launches
// that add partials up. Pure.
#pragma once

#include <map>
#include <vector>

#include "suites/common/block_tree.hpp"
#include "suites/fisher/problem.hpp"

namespace mgpu::fisher {

// Sizes of a program's buffers in bytes. End to end there are two input buffers, one per slot.
struct GramLayout {
  Bytes input = 0, params = 0;
  Bytes scores = 0, probabilities = 0;  // per piece, if the input is a design matrix
  Bytes partials = 0;                   // per piece
  Bytes nodes = 0;                      // one place per item
  unsigned input_buffers = 1;
  Items piece = 1;  // items whose blocks are computed by one launch
  Bytes largest() const;
  Bytes total() const;
};
// Returns the size of the nodes of all items, which is the same on every device.
Bytes node_bytes(const Problem& problem, const Blocks& blocks);
// `tile`: edge of the kernel's tile; `fits`: items per slice at most.
GramLayout gram_layout(const DeviceTraits& device, const Problem& problem, const Blocks& blocks,
                       unsigned tile, Mode mode, Items fits);

// Returns the capacity as Workload::capacity defines it.
Capacity gram_capacity(const DeviceTraits& device, const Problem& problem, const Blocks& blocks,
                       unsigned tile, Mode mode);

// A launch of combine_nodes. For each g < groups it adds `count` nodes of items first + g * stride
// + k * child_stride into the first of them.
struct Combination {
  Items first = 0, child_stride = 1;
  unsigned count = 1;
  Items stride = 0;
  std::uint64_t groups = 1;
  unsigned level = 0;  // level of the nodes made; lower levels come first
  bool operator==(const Combination&) const = default;
};

// The nodes a device has, by their first item. All nodes are complete.
class NodeForest {
 public:
  explicit NodeForest(Items items) : items_(items) {}
  void clear() { nodes_.clear(); }
  void add(const block_tree::TreeNode& node) { nodes_[node.begin()] = node; }
  // Combines the nodes into the fewest possible. Returns the launches that do so, in order.
  std::vector<Combination> combine();
  std::vector<block_tree::TreeNode> nodes() const;

 private:
  void build(const block_tree::TreeNode& wanted, std::vector<Combination>& out);
  Items items_;
  std::map<Items, block_tree::TreeNode> nodes_;
};

}  // namespace mgpu::fisher
