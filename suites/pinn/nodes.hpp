// The fixed tree that adds the gradients of shards. A node covers a power of two of shards and
// begins at a multiple of that number.
#pragma once

#include <cstdint>
#include <vector>

namespace mgpu::pinn {

struct Node {
  std::uint32_t first = 0, level = 0;  // covers 2^level shards
  std::uint32_t shards() const { return 1U << level; }
  bool operator==(const Node&) const = default;
};

// Returns the largest nodes that make up shards [begin, end), in order: at most 2 log2(shards).
inline std::vector<Node> nodes_of(std::uint64_t begin, std::uint64_t end) {
  std::vector<Node> nodes;
  while (begin < end) {
    std::uint32_t level = 0;
    while (begin % (std::uint64_t{2} << level) == 0 && begin + (std::uint64_t{2} << level) <= end)
      ++level;
    nodes.push_back({static_cast<std::uint32_t>(begin), level});
    begin += std::uint64_t{1} << level;
  }
  return nodes;
}

}  // namespace mgpu::pinn
