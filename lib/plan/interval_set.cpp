// Merged ranges in a map from begin to end.
#include "lib/plan/interval_set.hpp"

#include <algorithm>
#include <iterator>

#include "lib/base/error.hpp"

namespace mgpu {

void IntervalSet::add(const Slice& slice) {
  if (slice.begin >= slice.end) return;
  const auto after = ranges_.lower_bound(slice.begin);
  const auto before = after == ranges_.begin() ? ranges_.end() : std::prev(after);
  if ((after != ranges_.end() && after->first < slice.end) || (before != ranges_.end() && before->second > slice.begin)) {
    throw Error(ErrorKind::internal, "a range of items is held twice");
  }
  total_ += slice.size();
  Items end = slice.end;
  if (after != ranges_.end() && after->first == slice.end) {
    end = after->second;
    ranges_.erase(after);
  }
  if (before != ranges_.end() && before->second == slice.begin) {
    before->second = end;
  } else {
    ranges_.emplace(slice.begin, end);
  }
}

bool IntervalSet::remove(const Slice& slice) {
  if (slice.begin >= slice.end) return true;
  auto at = ranges_.upper_bound(slice.begin);
  if (at == ranges_.begin()) return false;
  --at;
  const auto [begin, end] = *at;
  if (end < slice.end) return false;
  if (begin == slice.begin) {
    ranges_.erase(at);
  } else {
    at->second = slice.begin;
  }
  if (end > slice.end) ranges_.emplace(slice.end, end);
  total_ -= slice.size();
  return true;
}

std::optional<Slice> IntervalSet::first() const {
  if (ranges_.empty()) return std::nullopt;
  return Slice{ranges_.begin()->first, ranges_.begin()->second};
}

std::optional<Slice> IntervalSet::last() const {
  if (ranges_.empty()) return std::nullopt;
  return Slice{ranges_.rbegin()->first, ranges_.rbegin()->second};
}

std::optional<Slice> IntervalSet::take_first(Items at_most) {
  std::optional<Slice> slice = first();
  if (!slice || at_most == 0) return std::nullopt;
  slice->end = slice->begin + std::min(at_most, slice->size());
  remove(*slice);
  return slice;
}

void IntervalSet::absorb(IntervalSet& other) {
  for (const auto& [begin, end] : other.ranges_) add({begin, end});
  other = {};
}

}  // namespace mgpu
