#include "suites/merkle/tree.hpp"

#include <algorithm>
#include <bit>

namespace mgpu::merkle {

std::string hex(const Digest& digest) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : digest) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

Geometry Geometry::of(std::uint64_t leaves, std::uint64_t trees) {
  const unsigned least_height = std::clamp(ceil_log2(leaves), 1u, 5u);
  const unsigned log2_items =
      static_cast<unsigned>(std::bit_width(std::max<Items>(1, max_items / trees)) - 1);
  Geometry g;
  g.leaves = leaves;
  g.trees = trees;
  g.height = std::max(ceil_log2(leaves), log2_items + least_height) - log2_items;
  g.per_tree = leaves == 0 ? 1 : ((leaves - 1) >> g.height) + 1;
  g.items = g.per_tree * trees;
  return g;
}

std::uint64_t Geometry::leaves_of_item() const {
  return std::min(leaves, std::uint64_t{1} << height);
}

std::uint64_t Geometry::first_leaf(Items item) const {
  return item / per_tree * leaves + std::min(leaves, item % per_tree << height);
}

std::vector<TreeNode> cover_items(const Rules& rules, Items begin, Items end, Items items) {
  return block_tree::cover(begin, end, rules.is_bitcoin() ? std::bit_ceil(items) : items);
}

}  // namespace mgpu::merkle
