// Implements cuts at multiples of powers of two.
#include "lib/plan/tree_cuts.hpp"

#include <algorithm>
#include <bit>

#include "lib/plan/ledger.hpp"

namespace mgpu {

std::size_t nodes_that_cover(const Slice& range, Items items) {
  std::size_t nodes = 0;
  for (Items at = range.begin; at < range.end; ++nodes) {
    // The largest node that begins here and ends no later than the range; at the end of the items
    // it may reach beyond it.
    Items size = at == 0 ? std::bit_ceil(std::max<Items>(items, 1)) : at & (~at + 1);
    while (std::min(at + size, items) > range.end) size /= 2;
    at += size;
  }
  return nodes;
}

std::size_t parts_of(std::span<const Slice> ranges, Items items, const MergeEstimate& merge) {
  if (!merge.tree) return ranges.size();
  std::size_t nodes = 0;
  for (const Slice& range : ranges) nodes += nodes_that_cover(range, items);
  return nodes;
}

Items even_cut(Items low, Items near, Items high, Items granularity) {
  if (low > high || high == 0) return near;
  const Items odd = granularity >> std::countr_zero(granularity);
  for (int power = std::bit_width(high / odd); power-- > std::countr_zero(granularity);) {
    const Items step = odd << power, first = round_up(low, step);
    if (first > high) continue;
    const Items last = round_down(high, step),
                below = std::clamp(round_down(near, step), first, last);
    const Items above = std::min(below + step, last);
    const auto distance = [&](Items at) { return at > near ? at - near : near - at; };
    return distance(above) < distance(below) ? above : below;
  }
  return near;
}

Items even_end(Items begin, Items size, Items most, Items granularity) {
  return even_cut(begin + size - size / 3, begin + size, begin + std::max(size, most), granularity);
}

}  // namespace mgpu
