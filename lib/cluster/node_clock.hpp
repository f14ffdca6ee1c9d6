// Bounds of the offset of another rank's host clock, by causality: its answer was stamped after the
// question left and before the answer arrived. Nothing is assumed about the network, and only a
// largest drift about the clocks.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "lib/base/units.hpp"
#include "lib/profile/clock_map.hpp"
#include "lib/profile/cluster_record.hpp"

namespace mgpu {

struct ClockExchange {
  Nanos sent{}, received{};  // by this rank's clock
  Nanos there{};             // by the other clock, in between
};

class NodeClock {
 public:
  // NTP slews a clock by 500 ppm at most, and two may be slewed in opposite directions.
  static constexpr double kMostDrift = 1e-3;
  // Number of newest exchanges that are kept; older ones say little, as the clocks may have drifted
  // since.
  static constexpr std::size_t kKept = 256;

  void add(const ClockExchange& exchange);
  bool empty() const { return exchanges_.empty(); }
  // Returns the bounds that all exchanges together give for the other clock's time `there`. Bounds
  // that contradict each other (after a clock was set) are replaced by those of the newest
  // exchange. None: there was no exchange.
  std::optional<ClockOffset> at(Nanos there) const;
  // Returns the bounds at the newest exchange.
  std::optional<ClockOffset> newest() const;
  // Returns the probe by this rank's clock, its brackets widened by the uncertainty of the offset.
  ClockProbe here(const ClockProbe& probe) const;

 private:
  std::deque<ClockExchange> exchanges_;
};

}  // namespace mgpu
