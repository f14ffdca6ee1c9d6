// The fixed binary tree over blocks (or items) along which partial results are combined, so that a
// result has the same bits for every partition: nodes, covers of ranges, and the known values of
// the tree. Pure; each suite defines the value of a node and how two values combine.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/units.hpp"

namespace mgpu::block_tree {

constexpr unsigned ceil_log2(std::uint64_t n) {
  unsigned k = 0;
  while (k < 63 && (std::uint64_t{1} << k) < n) ++k;
  return k;
}

// Returns the lowest `bits` bits of n in reverse order.
constexpr std::uint32_t reversed(std::uint32_t n, unsigned bits) {
  std::uint32_t r = 0;
  for (unsigned i = 0; i < bits; ++i) r |= (n >> i & 1) << (bits - 1 - i);
  return r;
}

// Node `index` of level `level` over the items. It covers [index << level,
// min((index + 1) << level, items)). The parent of an odd node at the end of a level has that
// node's value unchanged.
struct TreeNode {
  unsigned level = 0;
  Items index = 0;
  Items begin() const { return index << level; }
  Items end(Items items) const { return std::min((index + 1) << level, items); }
  bool operator==(const TreeNode&) const = default;
};

// Returns the fewest nodes of the tree over `items` that cover [begin, end) exactly, in order.
// `end` is at most `items`.
std::vector<TreeNode> cover(Items begin, Items end, Items items);

struct Range {
  Items begin = 0, end = 0;
  bool operator==(const Range&) const = default;
};
// Sorts the ranges, which must not overlap, and joins adjacent ones.
std::vector<Range> coalesce(std::vector<Range> ranges);

// The known values of the tree over the items. Nodes may overlap: their values agree.
template <class Value>
class PartialTree {
 public:
  explicit PartialTree(Items items) : items_(items) {
    for (unsigned level = 0;; ++level) {
      levels_.emplace_back(((items - 1) >> level) + 1);
      if (levels_.back().size() == 1) break;
    }
  }
  void clear() {
    for (auto& level : levels_) std::fill(level.begin(), level.end(), Entry{});
  }
  void set(const TreeNode& node, const Value& value) {
    levels_.at(node.level).at(node.index) = {true, value};
  }
  const Value* find(const TreeNode& node) const {  // null if not known
    const Entry& entry = levels_.at(node.level).at(node.index);
    return entry.known ? &entry.value : nullptr;
  }
  unsigned root_level() const { return static_cast<unsigned>(levels_.size()) - 1; }
  Items items() const { return items_; }
  // Returns the known nodes that are under no other known node, in order. Throws Error(internal)
  // unless they cover all items.
  std::vector<TreeNode> frontier() const {
    std::vector<TreeNode> nodes;
    append_frontier({root_level(), 0}, nodes);
    return nodes;
  }

 private:
  struct Entry {
    bool known = false;
    Value value{};
  };
  void append_frontier(const TreeNode& node, std::vector<TreeNode>& out) const {
    if (find(node)) {
      out.push_back(node);
      return;
    }
    if (node.level == 0)
      throw Error(ErrorKind::internal,
                  "merge: item " + std::to_string(node.index) + " has no result");
    const TreeNode left{node.level - 1, node.index * 2}, right{node.level - 1, node.index * 2 + 1};
    append_frontier(left, out);
    if (right.begin() < items_) append_frontier(right, out);
  }
  Items items_;
  std::vector<std::vector<Entry>> levels_;
};

}  // namespace mgpu::block_tree
