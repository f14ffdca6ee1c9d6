// Rebalances an iterative sample: at rebalancing points, if the remaining iterations gain more than
// moving state costs, the partition changes to the measured rates. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lib/plan/slice_source.hpp"

namespace mgpu {

class Rebalancer {
 public:
  // `shares`: the shares that the sample begins with. A device without a share is never given one.
  Rebalancer(const PlanRequest& request, std::vector<Items> shares);

  // Returns the number of completed iterations at the next rebalancing point after `after`: 4, 8,
  // 16 and so on, but at most 50 ms later than the point before, as far as times are known. None:
  // there are no further ones.
  std::optional<std::uint32_t> next_rebalance(std::uint32_t after);
  // Rebalances. `busy`: each device's busy times of the last iterations before the rebalancing
  // point; none if it has no share. Returns the new shares; none: they stay as they are, also if
  // no two devices are distinguishable: all times of one longer than all of the other.
  std::optional<std::vector<Items>> meet(std::span<const std::vector<Nanos>> busy);
  // Reverts the last change, as the partition cannot be changed, and ends rebalancing.
  void keep();
  const std::vector<Items>& shares() const { return shares_; }

 private:
  Items items_, granularity_;
  std::uint32_t rounds_;
  std::vector<Items> fits_, shares_, before_;
  std::vector<double> seconds_per_item_;  // time to move an item to the device
  std::uint32_t rebalance_ = 4;
};

}  // namespace mgpu
