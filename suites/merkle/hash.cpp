#include "suites/merkle/hash.hpp"

#include <algorithm>

namespace mgpu::merkle {
namespace {

Digest combine_node(const Rules& rules, const PartialTree& tree,
                    const std::vector<TreeNode>& frontier, std::size_t& next,
                    const TreeNode& node) {
  if (frontier[next] == node) return *tree.find(frontier[next++]);
  const Digest left = combine_node(rules, tree, frontier, next, {node.level - 1, node.index * 2});
  // The frontier covers all items. If it is used up, or continues beyond this node, there is no
  // right half, and the left one is promoted or paired with itself.
  if (next == frontier.size() || frontier[next].begin() >= (node.index + 1) << node.level)
    return rules.is_bitcoin() ? hash_node(rules, left, left) : left;
  return hash_node(rules, left,
                   combine_node(rules, tree, frontier, next, {node.level - 1, node.index * 2 + 1}));
}

// Returns the shift of byte i of a word: SHA-256 is big-endian, the others are little-endian.
unsigned shift_of(Hash hash, std::size_t i) {
  const auto byte = static_cast<unsigned>(i % 4);
  return 8 * (hash == Hash::sha256 ? 3 - byte : byte);
}

}  // namespace

Digest hash_message(Hash hash, std::span<const std::uint8_t> message) {
  switch (hash) {
    case Hash::sha256:
      return sha256(message);
    case Hash::keccak256:
      return keccak256(message);
    case Hash::blake3:
      break;
  }
  return blake3(message);
}

Digest hash_node(const Rules& rules, const Digest& left, const Digest& right) {
  std::array<std::uint8_t, 65> message{0x01};
  std::copy(left.begin(), left.end(), message.begin() + 1);
  std::copy(right.begin(), right.end(), message.begin() + 33);
  const std::span<const std::uint8_t> all(message);
  const Digest once = hash_message(rules.hash, rules.has_prefixes() ? all : all.subspan(1));
  return rules.is_bitcoin() ? hash_message(rules.hash, once) : once;
}

std::array<std::uint32_t, 8> to_words(Hash hash, const Digest& digest) {
  std::array<std::uint32_t, 8> words{};
  for (std::size_t i = 0; i < digest.size(); ++i)
    words[i / 4] |= std::uint32_t{digest[i]} << shift_of(hash, i);
  return words;
}

Digest from_words(Hash hash, std::span<const std::uint32_t, 8> words) {
  Digest digest{};
  for (std::size_t i = 0; i < digest.size(); ++i)
    digest[i] = static_cast<std::uint8_t>(words[i / 4] >> shift_of(hash, i));
  return digest;
}

Digest combine(const Rules& rules, const PartialTree& tree) {
  std::size_t next = 0;
  return combine_node(rules, tree, tree.frontier(), next, {tree.root_level(), 0});
}

}  // namespace mgpu::merkle
