#include "suites/merkle/tree.hpp"

#include <algorithm>
#include <bit>

#include "lib/base/error.hpp"

namespace mgpu::merkle {

TreeKind tree_kind(const std::string& name) {
  const auto found = std::find(tree_names.begin(), tree_names.end(), name);
  if (found == tree_names.end())
    throw Error(ErrorKind::usage, "--tree: plain, rfc6962 or rfc6962-digests, not '" + name + "'");
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

Geometry Geometry::of(std::uint64_t leaves, std::uint64_t trees) {
  // Trees of less than 32 leaves are reduced by fewer launches only if there are many.
  const unsigned least_height = trees == 1 ? 5 : std::clamp(ceil_log2(leaves), 1u, 5u);
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

}  // namespace mgpu::merkle
