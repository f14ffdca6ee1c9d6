// Maps a device's clock to the host's: offset, drift and uncertainty. Pure functions of probes;
// lib/session takes the probes, before and after a group. clGetDeviceAndHostTimer fails on NVIDIA
// and PoCL, so the map is fitted from tiny commands.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "lib/base/units.hpp"

namespace mgpu {

// A tiny command: the host read its clock, enqueued the command, waited, and read the clock again.
// The device stamped its start and end.
struct ClockProbe {
  Nanos host_before{}, host_after{};
  std::uint64_t device_started = 0, device_ended = 0;  // ns, arbitrary origin
};

// host = reference_host + (device - reference_device) * (1 + drift_ppb * 1e-9), within
// +-uncertainty at the probes.
struct ClockMap {
  // "bounds": probes bracket the offset; "identity": the device stamps with the host's clock;
  // "virtual": a simulated clock.
  std::string method = "none";
  std::uint64_t reference_device = 0;
  Nanos reference_host{};
  double drift_ppb = 0;
  Nanos uncertainty{};

  Nanos to_host(std::uint64_t device_ns) const;
  // Returns host minus device clock at the reference, `offset_ns` of the result file.
  std::int64_t offset_ns() const;
};

// Fits the map. Each probe bounds the offset: host_before <= host(device_started) and
// host(device_ended) <= host_after. The tightest bounds of the probes before and of those after the
// measured part each give an offset (their middle); the two offsets give the drift. The uncertainty
// is the larger half-width. With only one group the drift is 0. Probes that contradict each other
// (a clock that jumped) widen the uncertainty to cover both. An empty `before` gives method "none".
ClockMap fit_clock(std::span<const ClockProbe> before, std::span<const ClockProbe> after);

}  // namespace mgpu
