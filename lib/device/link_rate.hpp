// LinkRate: what devices carry together over the host link they share, by how many of them copy at
// the same time. It is not a fixed sum that any of them could have: of four H200 on one host one
// carried 54 GB/s up, two 102, three 132, four 154 (timelines of
// results/h200/latency-4-before.json), so that three take 1.17 times as long as four for the same
// bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace mgpu {

class LinkRate {
 public:
  // bytes/s, however many they are; 0: no limit.
  LinkRate(double bytes_per_s = 0) {  // NOLINT: a number is such a rate
    if (bytes_per_s > 0) by_count_.push_back(bytes_per_s);
  }
  // Of one, two and so on at once, each above 0; the last holds for more.
  explicit LinkRate(std::vector<double> by_count) : by_count_(std::move(by_count)) {}

  bool limited() const { return !by_count_.empty(); }
  // bytes/s of `count` devices at once; 0: no limit.
  double of(std::size_t count) const {
    return limited() ? by_count_[std::clamp<std::size_t>(count, 1, by_count_.size()) - 1] : 0;
  }
  // Of as many as something is known of.
  double all() const { return of(by_count_.size()); }
  const std::vector<double>& by_count() const { return by_count_; }

  bool operator==(const LinkRate&) const = default;

 private:
  std::vector<double> by_count_;  // empty: no limit
};

}  // namespace mgpu
