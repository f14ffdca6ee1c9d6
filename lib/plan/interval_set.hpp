// A set of items, stored as disjoint, merged ranges. A search is logarithmic in the number of
// ranges; a change moves the ranges behind it. Sets usually have one range, and grow at the end:
// with a map of nodes, sharing work among 1,024 devices spent most of its time on allocations.
#pragma once

#include <optional>
#include <vector>

#include "lib/plan/slice_source.hpp"

namespace mgpu {

class IntervalSet {
 public:
  // Throws Error(internal) if the set already has any of these items: an item would be computed
  // twice.
  void add(const Slice& slice);
  // Returns false, and changes nothing, if the set does not have all of these items.
  bool remove(const Slice& slice);
  // Removes and returns the front of the first range, at most this long; nothing if the set is
  // empty or `at_most` is 0.
  std::optional<Slice> take_first(Items at_most);
  // Moves all items of `other` into this set.
  void absorb(IntervalSet& other);

  std::optional<Slice> first() const;  // the first range
  std::optional<Slice> last() const;   // the last range
  Items total() const { return total_; }
  bool empty() const { return ranges_.empty(); }
  std::span<const Slice> ranges() const { return ranges_; }  // in order; not adjacent to each other

 private:
  using Ranges = std::vector<Slice>;
  Ranges::iterator first_from(Items begin);  // the first range that begins at `begin` or later

  Ranges ranges_;  // in order
  Items total_ = 0;
};

}  // namespace mgpu
