// Definition of a Merkle tree: which bytes are hashed, and how leaves are divided into items. The
// fixed tree above the items is suites/common/block_tree.hpp. Pure; hashes nothing.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "suites/common/block_tree.hpp"

namespace mgpu::merkle {

using Digest = std::array<std::uint8_t, 32>;
constexpr Bytes digest_bytes = 32;

// Kinds of trees. All promote an odd node at the end of a level unchanged; for RFC 6962 (2.1) that
// is the same tree as splitting at the largest power of two below n.
enum class TreeKind {
  plain,            // node = SHA-256(left || right); the leaves are the bottom level
  rfc6962,          // leaf = SHA-256(0x00 || leaf), node = SHA-256(0x01 || left || right)
  rfc6962_digests,  // the same nodes, but the leaves are leaf hashes already
};
constexpr std::array<std::string_view, 3> tree_names{"plain", "rfc6962", "rfc6962-digests"};
TreeKind tree_kind(const std::string& name);  // throws Error(usage)

std::string hex(const Digest& digest);  // lower case

using block_tree::ceil_log2, block_tree::coalesce, block_tree::cover, block_tree::Range,
    block_tree::TreeNode;

// Division of the leaves of `trees` trees of one size into items: aligned subtrees of 2^height
// leaves, of which the last of each tree may be incomplete. A tree has at most 1024 items, so that
// one work-group can reduce them, and all trees have together, unless items are whole trees. Items
// have at least 32 leaves if the tree does. A tree without leaves is one item, so that every
// problem has work to hand out. Leaves of a tree follow those of the one before it.
struct Geometry {
  std::uint64_t leaves = 0;  // of one tree
  std::uint64_t trees = 1;
  unsigned height = 0;
  Items per_tree = 0, items = 0;

  static constexpr Items max_items = 1024;
  static Geometry of(std::uint64_t leaves, std::uint64_t trees = 1);
  std::uint64_t all_leaves() const { return leaves * trees; }
  std::uint64_t leaves_of_item() const;        // of one that is complete, or the whole tree
  std::uint64_t first_leaf(Items item) const;  // of all leaves; their number for item `items`
};

// A node of a tree and its digest, as a device hands them over.
struct Partial {
  std::uint64_t tree = 0;
  TreeNode node;
  Digest digest{};
};

using PartialTree = block_tree::PartialTree<Digest>;

}  // namespace mgpu::merkle
