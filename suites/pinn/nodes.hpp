// The fixed tree along which the gradients of shards are added: a node is a power of two of shards
// that begins at a multiple of it.
#pragma once

#include <cstdint>
#include <vector>

namespace mgpu::pinn {

struct Node {
  std::uint32_t first = 0, level = 0;  // 2^level shards
  std::uint32_t shards() const { return 1U << level; }
  bool operator==(const Node&) const = default;
};

// The largest nodes that make up shards [begin, end), in order; 2 log2(shards) at most.
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
