#include "lib/exchange/traffic.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

namespace mgpu {

void CountedPeer::synchronised(std::span<const DeviceIndex> signal,
                               std::span<const DeviceIndex> await) {
  if (!is_on_) return;
  for (const DeviceIndex to : signal) events_.push_back({true, to});
  for (const DeviceIndex from : await) events_.push_back({false, from});
}

// Replays the events with a logical clock per device (Lamport 1978): a signal carries the sender's
// plus one, to which it sets the clock of the device that waits for it, if that is lower.
Traffic traffic_of(std::span<CountedPeer* const> peers) {
  Traffic traffic;
  std::map<std::pair<DeviceIndex, DeviceIndex>, std::deque<std::uint64_t>> under_way;
  std::vector<std::uint64_t> clocks(peers.size());
  std::vector<std::size_t> next(peers.size());
  for (bool moves = true; moves;) {
    moves = false;
    for (std::size_t i = 0; i < peers.size(); ++i) {
      const DeviceIndex self = peers[i]->self();
      for (; next[i] < peers[i]->events_.size(); ++next[i]) {
        const CountedPeer::Event& event = peers[i]->events_[next[i]];
        if (event.signals) {
          under_way[{self, event.other}].push_back(clocks[i] + 1);
        } else {
          auto& signals = under_way[{event.other, self}];
          if (signals.empty()) break;
          clocks[i] = std::max(clocks[i], signals.front());
          signals.pop_front();
        }
        moves = true;
      }
    }
  }
  for (std::size_t i = 0; i < peers.size(); ++i) {
    traffic.steps = std::max(traffic.steps, clocks[i]);
    traffic.sent = std::max(traffic.sent, peers[i]->sent_);
  }
  return traffic;
}

}  // namespace mgpu
