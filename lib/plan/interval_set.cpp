// Implements a set as ranges in order of their begin.
#include "lib/plan/interval_set.hpp"

#include <algorithm>
#include <iterator>

#include "lib/base/error.hpp"

namespace mgpu {

IntervalSet::Ranges::iterator IntervalSet::first_from(Items begin) {
  return std::lower_bound(ranges_.begin(), ranges_.end(), begin,
                          [](const Slice& range, Items at) { return range.begin < at; });
}

void IntervalSet::add(const Slice& slice) {
  if (slice.begin >= slice.end) return;
  const auto after = first_from(slice.begin);
  const bool has_after = after != ranges_.end(), has_before = after != ranges_.begin();
  if ((has_after && after->begin < slice.end) ||
      (has_before && std::prev(after)->end > slice.begin)) {
    throw Error(ErrorKind::internal, "a range of items is held twice");
  }
  total_ += slice.size();
  const bool joins_after = has_after && after->begin == slice.end,
             joins_before = has_before && std::prev(after)->end == slice.begin;
  if (joins_before && joins_after) {
    std::prev(after)->end = after->end;
    ranges_.erase(after);
  } else if (joins_before) {
    std::prev(after)->end = slice.end;
  } else if (joins_after) {
    after->begin = slice.begin;
  } else {
    ranges_.insert(after, slice);
  }
}

bool IntervalSet::remove(const Slice& slice) {
  if (slice.begin >= slice.end) return true;
  auto at = first_from(slice.begin + 1);
  if (at == ranges_.begin()) return false;
  --at;
  if (at->end < slice.end) return false;
  const Slice behind{slice.end, at->end};
  if (at->begin == slice.begin && behind.size() == 0) {
    ranges_.erase(at);
  } else if (at->begin == slice.begin) {
    at->begin = slice.end;
  } else {
    at->end = slice.begin;
    if (behind.size() > 0) ranges_.insert(std::next(at), behind);
  }
  total_ -= slice.size();
  return true;
}

std::optional<Slice> IntervalSet::first() const {
  if (ranges_.empty()) return std::nullopt;
  return ranges_.front();
}

std::optional<Slice> IntervalSet::last() const {
  if (ranges_.empty()) return std::nullopt;
  return ranges_.back();
}

std::optional<Slice> IntervalSet::take_first(Items at_most) {
  std::optional<Slice> slice = first();
  if (!slice || at_most == 0) return std::nullopt;
  slice->end = slice->begin + std::min(at_most, slice->size());
  remove(*slice);
  return slice;
}

void IntervalSet::absorb(IntervalSet& other) {
  for (const Slice& range : other.ranges_) add(range);
  other = {};
}

}  // namespace mgpu
