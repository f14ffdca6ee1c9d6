#include "lib/profile/chain.hpp"

#include <algorithm>
#include <map>

#include "lib/base/error.hpp"
#include "lib/profile/intervals.hpp"

namespace mgpu {
namespace {

// Kernels of a device by iteration, in order.
using Rounds = std::map<std::uint32_t, std::vector<const Command*>>;

std::vector<Rounds> kernels_by_round(const Timeline& timeline) {
  std::vector<Rounds> devices(timeline.devices);
  for (const Command& c : timeline.commands) {
    if (c.device.value >= timeline.devices)
      throw Error(ErrorKind::internal, "a command of a device that the timeline does not have");
    if (c.round && c.kind == CommandKind::compute) devices[c.device.value][*c.round].push_back(&c);
  }
  return devices;
}

// Adds the device's launches that every iteration has.
void add_stages(std::vector<ChainPhases::Stage>& stages, DeviceIndex device, const Rounds& rounds) {
  std::size_t launches = rounds.begin()->second.size();
  for (const auto& [round, kernels] : rounds) launches = std::min(launches, kernels.size());
  for (std::size_t k = 0; k < launches; ++k) {
    Nanos sum{};
    for (const auto& [round, kernels] : rounds) sum += kernels[k]->ended - kernels[k]->started;
    stages.push_back(
        {device, rounds.begin()->second[k]->label, sum / static_cast<std::int64_t>(rounds.size())});
  }
}

}  // namespace

std::size_t ChainPhases::slowest_stage() const {
  const auto at = std::max_element(stages.begin(), stages.end(),
                                   [](const Stage& a, const Stage& b) { return a.time < b.time; });
  return static_cast<std::size_t>(at - stages.begin());
}

std::optional<ChainPhases> chain_phases(const Timeline& timeline) {
  const std::vector<Rounds> devices = kernels_by_round(timeline);
  ChainPhases found;
  Nanos first_done = Nanos::max();
  std::size_t members = 0;
  for (std::uint32_t i = 0; i < devices.size(); ++i) {
    const Rounds& rounds = devices[i];
    if (rounds.empty()) continue;
    ++members;
    std::vector<Interval> kernels;
    Nanos begin = Nanos::max(), end = Nanos::min();
    for (const auto& [round, commands] : rounds) {
      for (const Command* c : commands) {
        kernels.push_back({c->started, c->ended});
        begin = std::min(begin, c->started);
        end = std::max(end, c->ended);
      }
    }
    found.filling = std::max(found.filling, begin);
    first_done = std::min(first_done, end);
    add_stages(found.stages, {i}, rounds);
    const auto count = static_cast<std::int64_t>(rounds.size());
    const Nanos busy = TimeSet(std::move(kernels)).length() / count;
    if (busy <= found.busy) continue;
    found.slowest = {i};
    found.busy = busy;
    found.period = (end - begin) / count;
  }
  if (members < 2 || found.stages.empty()) return std::nullopt;
  found.draining = std::max(Nanos{}, timeline.makespan - first_done);
  return found;
}

}  // namespace mgpu
