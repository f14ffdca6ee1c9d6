#include "suites/merkle/tree.hpp"

#include <algorithm>

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

Geometry Geometry::of(std::uint64_t leaves) {
  constexpr unsigned log2_max_items = ceil_log2(max_items), least_height = 5;
  Geometry g;
  g.leaves = leaves;
  g.height = std::max(ceil_log2(leaves), log2_max_items + least_height) - log2_max_items;
  g.items = leaves == 0 ? 1 : ((leaves - 1) >> g.height) + 1;
  return g;
}

std::uint64_t Geometry::first_leaf(Items item) const {
  return item >= items ? leaves : item << height;
}

}  // namespace mgpu::merkle
