// Geometry of the tree: items, covers, and what is known of the levels above the items. Hashing is in sha256.cpp and reference.cpp.
#include "suites/merkle/tree.hpp"

#include <algorithm>

#include "lib/base/error.hpp"

namespace mgpu::merkle {

TreeKind tree_kind(const std::string& name) {
  const auto found = std::find(tree_names.begin(), tree_names.end(), name);
  if (found == tree_names.end()) throw Error(ErrorKind::usage, "--tree: plain, rfc6962 or rfc6962-digests, not '" + name + "'");
  return static_cast<TreeKind>(found - tree_names.begin());
}

std::string hex(const Digest& digest) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : digest) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

Geometry Geometry::of(std::uint64_t leaves) {
  constexpr unsigned log2_max_items = ceil_log2(max_items), least_height = 5;
  Geometry g;
  g.leaves = leaves;
  g.height = std::max(ceil_log2(leaves), log2_max_items + least_height) - log2_max_items;
  g.items = leaves == 0 ? 1 : ((leaves - 1) >> g.height) + 1;
  return g;
}

std::uint64_t Geometry::first_leaf(Items item) const { return item >= items ? leaves : item << height; }

Items TreeNode::end(Items items) const { return std::min((index + 1) << level, items); }

std::vector<TreeNode> cover(Items begin, Items end, Items items) {
  std::vector<TreeNode> nodes;
  while (begin < end) {
    TreeNode node{0, begin};
    // Grow while the parent starts here and ends inside; the last node of a level ends at `items` whatever its index.
    for (TreeNode parent{1, begin >> 1};
         node.end(items) - node.begin() < items && parent.begin() == begin && parent.end(items) <= end;
         parent = {parent.level + 1, parent.index >> 1})
      node = parent;
    nodes.push_back(node);
    begin = node.end(items);
  }
  return nodes;
}

std::vector<Range> coalesce(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  std::vector<Range> joined;
  for (const Range& range : ranges) {
    if (!joined.empty() && joined.back().end == range.begin) {
      joined.back().end = range.end;
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

PartialTree::PartialTree(Items items) : items_(items) {
  for (unsigned level = 0;; ++level) {
    levels_.emplace_back(((items - 1) >> level) + 1);
    if (levels_.back().size() == 1) break;
  }
}

void PartialTree::clear() {
  for (auto& level : levels_) std::fill(level.begin(), level.end(), Entry{});
}

void PartialTree::set(const TreeNode& node, const Digest& digest) { levels_.at(node.level).at(node.index) = {true, digest}; }

const Digest* PartialTree::find(const TreeNode& node) const {
  const Entry& entry = levels_.at(node.level).at(node.index);
  return entry.known ? &entry.digest : nullptr;
}

std::vector<TreeNode> PartialTree::frontier() const {
  std::vector<TreeNode> nodes;
  append_frontier({root_level(), 0}, nodes);
  return nodes;
}

void PartialTree::append_frontier(const TreeNode& node, std::vector<TreeNode>& out) const {
  if (find(node)) {
    out.push_back(node);
    return;
  }
  if (node.level == 0) throw Error(ErrorKind::internal, "merkle: item " + std::to_string(node.index) + " has no result");
  const TreeNode left{node.level - 1, node.index * 2}, right{node.level - 1, node.index * 2 + 1};
  append_frontier(left, out);
  if (right.begin() < items_) append_frontier(right, out);
}

}  // namespace mgpu::merkle
