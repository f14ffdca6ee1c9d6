#include "suites/tropical/blocks.hpp"

#include "suites/common/block_tree.hpp"

namespace mgpu::tropical {
namespace {

// Returns the rows per block. With 256 rows, the large product of a round sums over 256 k. Reading
// and writing the whole state once, 8 bytes per 512 operations on an element, then takes an H200 a
// tenth of the computing time. Smaller graphs have smaller blocks, so that each device has some. 64
// vertices are closed at once; their state and paths are 32 KiB.
std::uint64_t edge_of(std::uint64_t vertices) {
  return vertices >= 4096 ? 256 : vertices >= 256 ? 64 : 32;
}

}  // namespace

Blocks Blocks::of(std::uint64_t vertices) {
  Blocks blocks{vertices, edge_of(vertices), vertices >= 2048 ? 64u : 32u, {}, {}};
  const auto count = static_cast<std::uint32_t>(ceil_div(vertices, blocks.edge));
  const unsigned bits = block_tree::ceil_log2(count);
  blocks.places.resize(count);
  for (std::uint32_t n = 0; n < std::uint32_t{1} << bits; ++n) {
    const std::uint32_t block = block_tree::reversed(n, bits);
    if (block >= count) continue;
    blocks.places[block] = static_cast<std::uint32_t>(blocks.order.size());
    blocks.order.push_back(block);
  }
  return blocks;
}

}  // namespace mgpu::tropical
