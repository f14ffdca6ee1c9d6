// What a Merkle tree is here: which bytes are hashed, how leaves fall into items, and how ranges of items fall into nodes of the
// fixed binary tree above them. Pure; hashes nothing.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/units.hpp"

namespace mgpu::merkle {

using Digest = std::array<std::uint8_t, 32>;
constexpr Bytes digest_bytes = 32;

// In each, an odd node at the end of a level is promoted unchanged; for RFC 6962 (2.1) that is the same tree as splitting at the
// largest power of two below n.
enum class TreeKind {
  plain,            // node = SHA-256(left || right); the leaves are the bottom level
  rfc6962,          // leaf = SHA-256(0x00 || leaf), node = SHA-256(0x01 || left || right)
  rfc6962_digests,  // the same nodes, but the leaves are leaf hashes already
};
constexpr std::array<std::string_view, 3> tree_names{"plain", "rfc6962", "rfc6962-digests"};
TreeKind tree_kind(const std::string& name);  // throws Error(usage)

std::string hex(const Digest& digest);  // lower case

constexpr unsigned ceil_log2(std::uint64_t n) {
  unsigned k = 0;
  while (k < 63 && (std::uint64_t{1} << k) < n) ++k;
  return k;
}

// An item is an aligned subtree of 2^height leaves; the last may be ragged. At most 1024 items, so that one work-group can reduce
// them; at least 32 leaves each. No leaves at all are one item, so that every problem has work to hand out.
struct Geometry {
  std::uint64_t leaves = 0;
  unsigned height = 0;
  Items items = 0;

  static constexpr Items max_items = 1024;
  static Geometry of(std::uint64_t leaves);
  std::uint64_t first_leaf(Items item) const;  // of `items`: the number of leaves
};

// Node `index` of level `level` over the items: covers [index << level, min((index + 1) << level, items)).
struct TreeNode {
  unsigned level = 0;
  Items index = 0;
  Items begin() const { return index << level; }
  Items end(Items items) const;
  bool operator==(const TreeNode&) const = default;
};

// The fewest nodes of the tree over `items` that cover [begin, end) exactly, in order. end <= items <= max_items.
std::vector<TreeNode> cover(Items begin, Items end, Items items);

struct Range {
  Items begin = 0, end = 0;
  bool operator==(const Range&) const = default;
};
// Sorted, with neighbours joined. The ranges do not overlap.
std::vector<Range> coalesce(std::vector<Range> ranges);

// A node and its digest, as a device hands it over.
struct Partial {
  TreeNode node;
  Digest digest{};
};

// What is known of the tree over the items. Overlapping nodes are welcome: they agree.
class PartialTree {
 public:
  explicit PartialTree(Items items);
  void clear();
  void set(const TreeNode& node, const Digest& digest);
  const Digest* find(const TreeNode& node) const;  // null: not known
  unsigned root_level() const { return static_cast<unsigned>(levels_.size()) - 1; }
  // The known nodes that are under no other known node, in order. Throws Error(internal) unless they cover all items.
  std::vector<TreeNode> frontier() const;

 private:
  struct Entry {
    bool known = false;
    Digest digest{};
  };
  void append_frontier(const TreeNode& node, std::vector<TreeNode>& out) const;
  Items items_;
  std::vector<std::vector<Entry>> levels_;
};

}  // namespace mgpu::merkle
