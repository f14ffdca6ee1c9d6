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

// Kinds of trees over a hash H. All but the last promote an odd node at the end of a level
// unchanged; for RFC 6962 (2.1) that is the same tree as splitting at the largest power of two
// below n.
enum class TreeKind {
  plain,            // node = H(left || right); the leaves are the bottom level
  rfc6962,          // leaf = H(0x00 || leaf), node = H(0x01 || left || right)
  rfc6962_digests,  // the same nodes, but the leaves are leaf hashes already
  hashed,           // leaf = H(leaf), node = H(left || right)
  bitcoin,          // node = H(H(left || right)) over leaves, an odd node is paired with itself
};
constexpr std::array<std::string_view, 5> tree_names{"plain", "rfc6962", "rfc6962-digests",
                                                     "hashed", "bitcoin"};

enum class Hash { sha256, keccak256, blake3 };
constexpr std::array<std::string_view, 3> hash_names{"sha256", "keccak256", "blake3"};

// Defines the bytes that are hashed. A kind alone is a tree of SHA-256 over leaves of 32 bytes.
struct Rules {
  // NOLINTNEXTLINE(google-explicit-constructor)
  Rules(TreeKind tree, Hash node_hash = Hash::sha256, Bytes bytes = digest_bytes)
      : kind(tree), hash(node_hash), leaf_bytes(bytes) {}
  TreeKind kind;
  Hash hash;
  Bytes leaf_bytes;

  bool has_prefixes() const {
    return kind == TreeKind::rfc6962 || kind == TreeKind::rfc6962_digests;
  }
  bool hashes_leaves() const { return kind == TreeKind::rfc6962 || kind == TreeKind::hashed; }
  bool is_bitcoin() const { return kind == TreeKind::bitcoin; }
};

std::string hex(const Digest& digest);  // lower case

using block_tree::ceil_log2, block_tree::coalesce, block_tree::Range, block_tree::TreeNode;

// Division of the leaves of `trees` trees of one size into items: aligned subtrees of 2^height
// leaves, of which the last of each tree may be incomplete. A tree has at most 1024 items, so that
// one work-group can reduce them, and all trees have together, unless items are whole trees. Items
// have at least 32 leaves if the tree does. A tree of two leaves or more that is one item ends with
// its root, at level `height`. A tree without leaves is one item, so that every
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

// Returns the fewest nodes that cover items begin .. end - 1 of `items`. Only complete nodes where
// odd nodes are paired with themselves: their values do not depend on how high they are promoted.
std::vector<TreeNode> cover_items(const Rules& rules, Items begin, Items end, Items items);

}  // namespace mgpu::merkle
