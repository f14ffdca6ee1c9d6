// How the vertices of a graph fall into blocks, and in which order blocks are items. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lib/base/units.hpp"

namespace mgpu::tropical {

// A round has a block, in the order of their numbers; devices have the rows of one or more of them.
// Item number i is the block whose number has the bits of i reversed, less those there are not: a
// device that has a range of items then has blocks that are spread evenly over the rounds, and of
// two equal shares one has the even blocks and one the odd ones. So what an owner does besides, it
// does by turns with the others. On a device the rows of item i begin at row i * edge; a block of
// fewer vertices is filled up.
struct Blocks {
  std::uint64_t vertices = 0;
  std::uint64_t edge = 0;             // rows of a block
  std::uint64_t inner = 0;            // vertices of it that are closed at once
  std::vector<std::uint32_t> order;   // the block that an item is
  std::vector<std::uint32_t> places;  // the item that a block is

  static Blocks of(std::uint64_t vertices);
  std::uint64_t count() const { return order.size(); }
  std::uint64_t first(std::uint64_t block) const {
    return std::min(block * edge, vertices);
  }  // vertex
  std::uint64_t size(std::uint64_t block) const { return first(block + 1) - first(block); }
  std::uint64_t row(std::uint64_t block) const {
    return places[block] * edge;
  }  // of its first vertex, on a device
  std::uint64_t rows() const { return count() * edge; }
  std::uint64_t stride() const {
    return (vertices + 63) / 64 * 64;
  }  // elements from row to row on a device
  Bytes panel_bytes() const { return edge * stride() * 4; }
  Bytes state_bytes() const { return rows() * stride() * 4; }
};

}  // namespace mgpu::tropical
