// LinkRate: total bandwidth of the host link that devices share, by the number of devices that copy
// at the same time. It is not one fixed sum: on a host with four H200, one carried 54 GB/s up, two
// 102, three 132, four 154 (timelines of results/h200/latency-4-before.json), so that three take
// 1.17 times as long as four for the same bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace mgpu {

class LinkRate {
 public:
  // Makes a rate in bytes/s that does not depend on the number of devices; 0: no limit.
  LinkRate(double bytes_per_s = 0) {  // NOLINT: a number is such a rate
    if (bytes_per_s > 0) by_count_.push_back(bytes_per_s);
  }
  // Makes a rate from the totals of one, two and so on devices at once, each above 0. The last
  // one also applies to more devices.
  explicit LinkRate(std::vector<double> by_count) : by_count_(std::move(by_count)) {}

  bool limited() const { return !by_count_.empty(); }
  // Returns the total bytes/s of `count` devices at once; 0: no limit.
  double of(std::size_t count) const {
    return limited() ? by_count_[std::clamp<std::size_t>(count, 1, by_count_.size()) - 1] : 0;
  }
  // Returns the total of the largest number of devices that is known.
  double all() const { return of(by_count_.size()); }
  const std::vector<double>& by_count() const { return by_count_; }

  bool operator==(const LinkRate&) const = default;

 private:
  std::vector<double> by_count_;  // empty: no limit
};

}  // namespace mgpu
