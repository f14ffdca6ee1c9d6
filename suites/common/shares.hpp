// Shares of work that goes in rounds: who lies beside whom, and where shares lie that end along two
// axes.
#pragma once

#include <span>
#include <vector>

#include "lib/workload/workload.hpp"

namespace mgpu {

// The owner of this share among several, null where there are none.
const Owner* owner_of(std::span<const Owner> owners, const Slice& share);

// Who owns the layers before and after a share; null: nobody else. Periodic: the first one's lie
// after the last one's.
struct Neighbours {
  const Owner *before = nullptr, *after = nullptr;
  std::vector<DeviceIndex> devices() const;  // each once
};
Neighbours neighbours_of(std::span<const Owner> owners, const Slice& share, bool periodic);

// Items that are pieces of layers, `columns` of them across the width of each, numbered down the
// first column of pieces, then down the next.
struct PiecesOfLayers {
  std::uint64_t layers = 0, width = 0, columns = 1;
};

// Layers [first, end), and of each of them [left, right).
struct Patch {
  std::uint64_t first = 0, end = 0, left = 0, right = 0;
  bool empty() const { return first >= end || left >= right; }
};

Patch common_part(const Patch& a, const Patch& b);

// A range of items as patches, at most three.
std::vector<Patch> patches_of(const PiecesOfLayers& pieces, const Slice& items);

// As many columns as make equal shares of so many devices one block each, about as wide as high.
std::uint64_t columns_for(std::size_t devices);

}  // namespace mgpu
