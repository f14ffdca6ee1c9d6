// The clock of another rank's host on ours, as bounds by causality: its answer was stamped after
// the question left and before it arrived. Nothing is assumed of the network, and of the clocks
// only how fast they drift at most.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "lib/base/units.hpp"
#include "lib/profile/clock_map.hpp"
#include "lib/profile/cluster_record.hpp"

namespace mgpu {

struct ClockExchange {
  Nanos sent{}, received{};  // by our clock
  Nanos there{};             // by the other, in between
};

class NodeClock {
 public:
  // NTP slews a clock by 500 ppm at most, and two may be slewed in opposite directions.
  static constexpr double kMostDrift = 1e-3;
  static constexpr std::size_t kKept =
      256;  // the newest; older ones say little, as the clocks may have drifted since

  void add(const ClockExchange& exchange);
  bool empty() const { return exchanges_.empty(); }
  // What all exchanges together say of this time of theirs; bounds that contradict each other (a
  // clock was set anew) are widened to cover the newest exchange. None: there was no exchange.
  std::optional<ClockOffset> at(Nanos there) const;
  // At the newest exchange.
  std::optional<ClockOffset> newest() const;
  // The same probe by our clock: what it brackets is widened by what is not known of the offset.
  ClockProbe here(const ClockProbe& probe) const;

 private:
  std::deque<ClockExchange> exchanges_;
};

}  // namespace mgpu
