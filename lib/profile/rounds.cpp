#include "lib/profile/rounds.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/profile/intervals.hpp"
#include "lib/profile/metrics.hpp"

namespace mgpu {

std::optional<RoundImbalance> round_imbalance(const Timeline& timeline) {
  if (timeline.devices < 2) return std::nullopt;
  // Clips kernels to the sample, as parts.cpp does.
  const Nanos whole = std::max(timeline.makespan, Nanos{});
  using ByDevice = std::vector<std::vector<Interval>>;
  std::map<std::uint32_t, ByDevice> rounds;
  for (const Command& c : timeline.commands) {
    if (c.device.value >= timeline.devices)
      throw Error(ErrorKind::internal, "a command of a device that the timeline does not have");
    if (!c.round || c.kind != CommandKind::compute) continue;
    ByDevice& kernels = rounds.try_emplace(*c.round, timeline.devices).first->second;
    kernels[c.device.value].push_back(
        {std::clamp(c.started, Nanos{}, whole), std::clamp(c.ended, Nanos{}, whole)});
  }
  std::optional<RoundImbalance> found;
  std::size_t counted = 0;
  for (auto& [round, kernels] : rounds) {
    std::vector<Nanos> compute;
    for (std::vector<Interval>& of_device : kernels)
      compute.push_back(TimeSet(std::move(of_device)).length());
    const std::optional<double> imbalance = imbalance_percent(compute);
    if (!imbalance) continue;
    if (!found || *imbalance > found->worst) found = {found ? found->mean : 0, *imbalance, round};
    found->mean += (*imbalance - found->mean) / static_cast<double>(++counted);
  }
  return found;
}

}  // namespace mgpu
