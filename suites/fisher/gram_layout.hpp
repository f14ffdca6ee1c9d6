// How one empirical Fisher matrix uses a device: its memory, slices in pieces, and the launches
// that add partials up. Pure.
#pragma once

#include <map>
#include <vector>

#include "suites/common/block_tree.hpp"
#include "suites/fisher/problem.hpp"

namespace mgpu::fisher {

// What a program allocates, each in bytes; of the input there are two end to end, one a slot.
struct GramLayout {
  Bytes input = 0, params = 0;
  Bytes scores = 0, probabilities = 0;  // of a piece, where the input is a design matrix
  Bytes partials = 0;                   // of a piece
  Bytes nodes = 0;                      // a slot for each item
  unsigned input_buffers = 1;
  Items piece = 1;  // items whose blocks are computed by one launch
  Bytes largest() const;
  Bytes total() const;
};
// Of the nodes of all items: the same on every device.
Bytes node_bytes(const Problem& problem, const Blocks& blocks);
// `tile`: the edge of the kernel's. Slices are of at most `fits` items.
GramLayout gram_layout(const DeviceTraits& device, const Problem& problem, const Blocks& blocks,
                       unsigned tile, Mode mode, Items fits);

// Capacity as Workload::capacity defines it.
Capacity gram_capacity(const DeviceTraits& device, const Problem& problem, const Blocks& blocks,
                       unsigned tile, Mode mode);

// A launch of combine_nodes: for g < groups, `count` nodes of items first + g * stride + k *
// child_stride into the first of them.
struct Combination {
  Items first = 0, child_stride = 1;
  unsigned count = 1;
  Items stride = 0;
  std::uint64_t groups = 1;
  unsigned level = 0;  // of the nodes made; those of lower levels come first
  bool operator==(const Combination&) const = default;
};

// The nodes a device has, by their first item; all nodes are complete.
class NodeForest {
 public:
  explicit NodeForest(Items items) : items_(items) {}
  void clear() { nodes_.clear(); }
  void add(const block_tree::TreeNode& node) { nodes_[node.begin()] = node; }
  // Makes the fewest nodes of what is there, and says by which launches, in order.
  std::vector<Combination> combine();
  std::vector<block_tree::TreeNode> nodes() const;

 private:
  void build(const block_tree::TreeNode& wanted, std::vector<Combination>& out);
  Items items_;
  std::map<Items, block_tree::TreeNode> nodes_;
};

}  // namespace mgpu::fisher
