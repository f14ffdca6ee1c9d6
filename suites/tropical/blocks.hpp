// The partition of a graph's vertices into blocks, and the order of blocks as items. Pure
// functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lib/base/units.hpp"

namespace mgpu::tropical {

// Blocks of vertices. Each round has one block, in the order of their numbers; a device has the
// rows of one or more blocks. Item i is the block whose number is i with its bits reversed,
// skipping numbers that do not exist. So a device with a range of items has blocks spread evenly
// over the rounds: of two equal shares, one has the even and one the odd blocks, and their owners
// take turns at the extra work of a round's block. On a device, the rows of item i begin at row i *
// edge; a smaller block is padded.
struct Blocks {
  std::uint64_t vertices = 0;
  std::uint64_t edge = 0;             // rows per block
  std::uint64_t inner = 0;            // vertices of a block that are closed at once
  std::vector<std::uint32_t> order;   // block of each item
  std::vector<std::uint32_t> places;  // item of each block

  static Blocks of(std::uint64_t vertices);
  std::uint64_t count() const { return order.size(); }
  // Returns the first vertex of a block.
  std::uint64_t first(std::uint64_t block) const { return std::min(block * edge, vertices); }
  std::uint64_t size(std::uint64_t block) const { return first(block + 1) - first(block); }
  // Returns the row of its first vertex on a device.
  std::uint64_t row(std::uint64_t block) const { return places[block] * edge; }
  std::uint64_t rows() const { return count() * edge; }
  // Returns the elements per row on a device.
  std::uint64_t stride() const { return (vertices + 63) / 64 * 64; }
  Bytes panel_bytes() const { return edge * stride() * 4; }
  Bytes state_bytes() const { return rows() * stride() * 4; }
};

}  // namespace mgpu::tropical
