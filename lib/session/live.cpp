#include "lib/session/live.hpp"

#include <algorithm>

#include "lib/profile/metrics.hpp"

namespace mgpu {

LiveEvent live_event(Workload& workload, const LiveSample& before, const LiveSample& now) {
  const Shape& shape = workload.shape();
  const bool iterates = shape.rounds > 0;
  const auto earlier = [&](std::size_t i) {
    return i < before.devices.size() ? before.devices[i] : LiveSample::Device{};
  };
  // Returns the iterations that all devices with a share have done, or the items of all.
  const auto done_of = [&](const LiveSample& sample) {
    std::uint64_t done = 0;
    bool first = true;
    for (const LiveSample::Device& device : sample.devices) {
      if (!iterates) done += device.items;
      if (!iterates || device.items == 0) continue;
      done = first ? device.rounds : std::min<std::uint64_t>(done, device.rounds);
      first = false;
    }
    return done;
  };
  LiveEvent event;
  event.elapsed = now.elapsed;
  event.interval = now.elapsed - before.elapsed;
  event.ended = now.ended;
  event.unit = iterates ? "iterations" : shape.unit.name.empty() ? "items" : shape.unit.name;
  const std::uint64_t done = done_of(now), all_of_it = iterates ? shape.rounds : shape.items;
  // Items may stand for several of what people count.
  const std::uint64_t count = iterates || shape.unit.count == 0 ? all_of_it : shape.unit.count;
  event.done = done == all_of_it ? count : done * (count / std::max<Items>(all_of_it, 1));
  event.total = count;
  const std::uint64_t done_before = std::min(done_of(before), done);
  if (event.interval > Nanos{} && all_of_it > 0)
    event.rate = shape.ops * static_cast<double>(done - done_before) /
                 static_cast<double>(all_of_it) / seconds(event.interval);
  event.rate_unit = shape.rate_unit;
  std::vector<Nanos> busy;
  double all = 0;
  for (std::size_t i = 0; i < now.devices.size(); ++i) {
    const Items items = now.devices[i].items;
    event.shares.push_back(static_cast<double>(items));
    all += static_cast<double>(items);
    if (items > 0) busy.push_back(now.devices[i].busy - earlier(i).busy);
  }
  for (double& share : event.shares) share = all > 0 ? share / all : 0;
  const bool measured =
      std::all_of(busy.begin(), busy.end(), [](Nanos time) { return time > Nanos{}; });
  if (busy.size() > 1 && measured) event.imbalance_percent = imbalance_percent(busy);
  if (LiveWorkload* const live = workload.interfaces().live) event.figures = live->live_figures();
  return event;
}

}  // namespace mgpu
