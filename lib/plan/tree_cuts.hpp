// Cuts of work whose results are combined along the binary tree over the items. A range leaves as
// many parts as nodes cover it: cuts at multiples of large powers of two make few. Pure.
#pragma once

#include "lib/plan/slice_source.hpp"

namespace mgpu {

// Returns the least number of nodes of the tree over `items` that cover the range exactly. A node
// is [k << level, (k + 1) << level), cut off at the end of the items.
std::size_t nodes_that_cover(const Slice& range, Items items);

// Returns the number of parts that ranges, none of which are adjacent, leave to merge.
std::size_t parts_of(std::span<const Slice> ranges, Items items, const MergeEstimate& merge);

// Returns the multiple of `granularity` from `low` to `high` that is divisible by the largest power
// of two; of several the nearest to `near`, then the lower. `near` itself if there is none.
Items even_cut(Items low, Items near, Items high, Items granularity);

// Returns the end of a piece of about `size` items from `begin` on: from two thirds of `size` to
// `most`.
Items even_end(Items begin, Items size, Items most, Items granularity);

}  // namespace mgpu
