// Borders between the shares of a sample that goes in rounds, which follow what its rounds showed:
// devices meet now and then, and where the rounds to come gain more than moving their state costs,
// shares become those of the rates that were measured. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lib/plan/slice_source.hpp"

namespace mgpu {

class Borders {
 public:
  // `shares`: that the sample begins with. Who has none is given none.
  Borders(const PlanRequest& request, std::vector<Items> shares);

  // Those with a share meet when so many rounds are done: 4, 8, 16 and so on, but not before more
  // than `after`. None: never again.
  std::optional<std::uint32_t> next_meeting(std::uint32_t after);
  // They met: how long each was busy with a round since the meeting before, in the median, zero
  // where it has no share. The shares from now on; none: as they are.
  std::optional<std::vector<Items>> meet(std::span<const Nanos> busy);
  // They cannot be moved there: they are as they were, and nobody meets again.
  void keep();
  const std::vector<Items>& shares() const { return shares_; }

 private:
  Items items_, granularity_;
  std::uint32_t rounds_;
  std::vector<Items> fits_, shares_, before_;
  std::vector<double> seconds_per_item_;  // to move one to the device
  std::uint32_t meeting_ = 4;
};

}  // namespace mgpu
