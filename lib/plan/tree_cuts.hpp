// Where results are combined along the binary tree over the items, a range leaves as many parts as
// nodes cover it: cuts at multiples of large powers of two make few. Pure.
#pragma once

#include "lib/plan/slice_source.hpp"

namespace mgpu {

// The fewest nodes of the tree over `items` that cover the range exactly. A node is [k << level, (k
// + 1) << level), cut off at the end of the items.
std::size_t nodes_that_cover(const Slice& range, Items items);

// What ranges, none of which touches another, leave to merge.
std::size_t parts_of(std::span<const Slice> ranges, Items items, const MergeEstimate& merge);

// The multiple of `granularity` from `low` to `high` that the largest power of two divides; of
// several the one nearest to `near`, then the lower. `near` itself where there is none.
Items even_cut(Items low, Items near, Items high, Items granularity);

// Ends of a piece of about `size` items from `begin` on: from two thirds of it to `most`.
Items even_end(Items begin, Items size, Items most, Items granularity);

}  // namespace mgpu
