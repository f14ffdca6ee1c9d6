// A set of items kept as disjoint, merged ranges. Finding is logarithmic in the number of ranges;
// changing moves those behind. Sets have one range as a rule, and grow at the end: in a map of
// nodes, sharing work among 1,024 devices took most of its time for allocations.
#pragma once

#include <optional>
#include <vector>

#include "lib/plan/slice_source.hpp"

namespace mgpu {

class IntervalSet {
 public:
  // Throws Error(internal) when any of it is already held: an item would be computed twice.
  void add(const Slice& slice);
  // False, and nothing changed, when not all of it is held.
  bool remove(const Slice& slice);
  // The front of the first range, at most this long; nothing when the set is empty or `at_most` is
  // 0.
  std::optional<Slice> take_first(Items at_most);
  // Moves everything that `other` holds here.
  void absorb(IntervalSet& other);

  std::optional<Slice> first() const;  // the first range
  std::optional<Slice> last() const;   // the last range
  Items total() const { return total_; }
  bool empty() const { return ranges_.empty(); }
  std::span<const Slice> ranges() const { return ranges_; }  // in order; none touches another

 private:
  using Ranges = std::vector<Slice>;
  Ranges::iterator first_from(Items begin);  // the first range that begins there or later

  Ranges ranges_;  // in order
  Items total_ = 0;
};

}  // namespace mgpu
