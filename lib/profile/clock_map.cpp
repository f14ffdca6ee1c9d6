// Fits a device's clock to the host's from probes that bracket it. Interval arithmetic instead of
// regression, so that the uncertainty is a bound and not an estimate.
#include "lib/profile/clock_map.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "lib/base/units.hpp"

namespace mgpu {

namespace {

// No oscillator is off by 0.1 %: a larger drift, beyond what the brackets leave open, means that
// the clock was set.
constexpr double kLargestDrift = 1e-3;

// Returns the difference of 64-bit stamps with an arbitrary origin; wraps like the counters do.
std::int64_t since(std::uint64_t device_ns, std::uint64_t origin) {
  return static_cast<std::int64_t>(device_ns - origin);
}

// The bounds that a group of probes sets on host - device, both relative to a common origin, at
// `device`.
struct Bracket {
  double device = 0;  // middle of the group, ns since the origin
  double first = 0, last = 0;
  double low = 0, high = 0;  // low <= high
  double middle() const { return (low + high) / 2; }
  double half() const { return (high - low) / 2; }
  double span() const { return last - first; }
};

// Returns the nearest integer, clamped to a quarter of the 64-bit range; 0 for NaN.
std::int64_t whole(double ns) {
  constexpr double limit = 4.6e18;
  return std::isnan(ns) ? 0 : std::llround(std::clamp(ns, -limit, limit));
}

struct Origin {
  std::uint64_t device = 0;
  Nanos host{};
};

// Combines the bounds of a group. `drift`: the best guess so far of d(host - device)/d(device),
// which carries each probe's bounds to the middle of the group.
Bracket bracket(std::span<const ClockProbe> probes, const Origin& origin, double drift) {
  Bracket b;
  b.first = b.last = static_cast<double>(since(probes.front().device_started, origin.device));
  for (const ClockProbe& p : probes) {
    b.first = std::min(b.first, static_cast<double>(since(p.device_started, origin.device)));
    b.last = std::max(b.last, static_cast<double>(since(p.device_ended, origin.device)));
  }
  b.device = (b.first + b.last) / 2;
  struct Bounds {
    double low, high;
  };
  std::optional<Bounds> highest_low, lowest_high;
  for (const ClockProbe& p : probes) {
    const double started = static_cast<double>(since(p.device_started, origin.device));
    const double ended = static_cast<double>(since(p.device_ended, origin.device));
    const double low = static_cast<double>((p.host_before - origin.host).count()) - started -
                       drift * (started - b.device);
    const double high = static_cast<double>((p.host_after - origin.host).count()) - ended -
                        drift * (ended - b.device);
    if (!highest_low || low > highest_low->low) highest_low = {low, high};
    if (!lowest_high || high < lowest_high->high) lowest_high = {low, high};
  }
  b.low = highest_low->low;
  b.high = lowest_high->high;
  // Contradiction: no single offset satisfies all probes. The two that disagree most are both right
  // at their own time, so the bracket covers both.
  if (b.low > b.high) {
    const double low = std::min({lowest_high->low, lowest_high->high, b.high});
    b.high = std::max({highest_low->low, highest_low->high, b.low});
    b.low = low;
  }
  return b;
}

ClockMap from_bracket(const Bracket& b, const Origin& origin, double drift, double uncertainty) {
  ClockMap map;
  map.method = "bounds";
  const std::int64_t device = whole(b.device);
  map.reference_device = origin.device + static_cast<std::uint64_t>(device);
  map.reference_host = saturating_add(origin.host, Nanos{device} + Nanos{whole(b.middle())});
  map.drift_ppb = drift * 1e9;
  map.uncertainty = Nanos{whole(std::ceil(uncertainty)) + 1};  // 1 ns: both ends are rounded
  return map;
}

}  // namespace

Nanos ClockMap::to_host(std::uint64_t device_ns) const {
  const std::int64_t elapsed = since(device_ns, reference_device);
  return saturating_add(reference_host,
                        saturating_add(Nanos{elapsed}, Nanos{whole(static_cast<double>(elapsed) *
                                                                   drift_ppb * 1e-9)}));
}

std::int64_t ClockMap::offset_ns() const {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(reference_host.count()) -
                                   reference_device);
}

ClockMap fit_clock(std::span<const ClockProbe> before, std::span<const ClockProbe> after) {
  if (before.empty()) return {};
  const Origin origin{before.front().device_started, before.front().host_before};
  Bracket first = bracket(before, origin, 0);
  if (after.empty()) return from_bracket(first, origin, 0, first.half());

  Bracket second = bracket(after, origin, 0);
  const double apart = second.device - first.device;
  const double jump = std::abs(second.middle() - first.middle()) - first.half() - second.half();
  // The clock was set in between: use one offset that covers both.
  if (apart <= 0 || jump > kLargestDrift * apart) {
    first.low = std::min(first.low, second.low);
    first.high = std::max(first.high, second.high);
    return from_bracket(first, origin, 0, first.half());
  }
  double drift = (second.middle() - first.middle()) / apart;
  first = bracket(before, origin, drift);
  second = bracket(after, origin, drift);
  drift = (second.middle() - first.middle()) / apart;
  const double half = std::max(first.half(), second.half());
  // The drift is known to within 2 * half / apart; over a group's own length that moves its bounds
  // by this much at most.
  const double spread = std::max(first.span(), second.span()) / apart;
  return from_bracket(first, origin, drift, half * (1 + 2 * spread));
}

}  // namespace mgpu
