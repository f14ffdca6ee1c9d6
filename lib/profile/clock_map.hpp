// One device's clock on the host's: offset, drift and how sure we are. Pure functions of probes;
// lib/session takes the probes, before and after a group. clGetDeviceAndHostTimer fails on NVIDIA
// and PoCL, so the map is fitted from tiny commands.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "lib/base/units.hpp"

namespace mgpu {

// A tiny command: the host looked at its clock, enqueued it, waited, and looked again. The device
// says when it started and ended.
struct ClockProbe {
  Nanos host_before{}, host_after{};
  std::uint64_t device_started = 0, device_ended = 0;  // device nanoseconds, an arbitrary origin
};

// host = reference_host + (device - reference_device) * (1 + drift_ppb * 1e-9), within
// +-uncertainty at the probes.
struct ClockMap {
  std::string method = "none";  // "bounds": probes bracket the offset; "identity": the device
                                // stamps with the host's clock; "virtual"
  std::uint64_t reference_device = 0;
  Nanos reference_host{};
  double drift_ppb = 0;
  Nanos uncertainty{};

  Nanos to_host(std::uint64_t device_ns) const;
  // host minus device clock at the reference: what the result file calls offset_ns.
  std::int64_t offset_ns() const;
};

// Each probe bounds the offset: host_before <= host(device_started) and host(device_ended) <=
// host_after. The tightest bounds of the probes before and of those after the measured part give an
// offset each (their middle) and the drift between the two; uncertainty is the larger half-width.
// With only one group the drift is 0. Probes that contradict each other (a clock that jumped) widen
// the uncertainty to cover both. An empty `before` gives method "none".
ClockMap fit_clock(std::span<const ClockProbe> before, std::span<const ClockProbe> after);

}  // namespace mgpu
