// Chrome trace-event JSON of a report, which opens in Perfetto, chrome://tracing and Tracy. One
// process per device with a thread per queue, one process for the run (strategies, samples, merge).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/units.hpp"
#include "lib/report/record.hpp"

namespace mgpu {

// Returns the trace. Cases follow one another on the time axis, in zero-based microseconds with
// fractions: for each the sample shown, then the invalidated samples, in a process of their own.
// Faults are instants on their device's worker. "metadata" has the clock method, offset, drift and
// uncertainty of each device.
std::string to_chrome_trace(const Report& report);

// What a trace shows besides a report of one case: calls of a program's threads.
struct TraceTrack {
  std::string process, thread;  // tracks of one process follow one another
  struct Event {
    std::string name;
    Nanos begin{}, end{};
  };
  std::vector<Event> events;  // disjoint, in order
};
struct TraceExtras {
  std::string title;  // of the case
  std::vector<TraceTrack> tracks;
};
std::string to_chrome_trace(const Report& report, const TraceExtras& extras);

// Places the events of a trace: process, thread, and lane of the thread. Internal to lib/report.

// Number of threads in a device's process: the host's worker, uploads, kernels, downloads, and
// exchanges with other devices.
inline constexpr std::size_t kTraceThreads = 5;

// Partitions intervals into lanes: each gets the lowest-numbered lane whose last event has ended,
// so that events of a lane never overlap. Returns lanes in the order of `begin_end`; O(n log n).
// Reversed intervals count as empty.
std::vector<std::uint32_t> assign_lanes(const std::vector<std::pair<Nanos, Nanos>>& begin_end);

// The layout of one sample: a lane for each command and span.
struct SampleLanes {
  std::vector<std::uint32_t> commands, spans;  // parallel to the timeline's
};

// A node, if there are several: one process, with a thread that shows the uncertainty of its clock,
// followed by its devices' threads.
struct TraceNode {
  std::uint32_t node = 0;
  std::string name;  // name of the process
  std::uint32_t pid = 0, clock_tid = 0;
  // Width of the bounds of its clock; none: the record uses its clock, or nothing is known.
  std::optional<Nanos> bound;
};

// The tracks of one device: a process of the trace, or a part of one that several devices share.
struct TraceDevice {
  std::string id, name;   // name: of the process
  std::string prefix;     // prefix of its threads' names in a shared process: "0:1 "
  std::uint32_t pid = 0;  // shared process: the same as the previous device's
  bool shares = false;
  std::optional<std::size_t> node;  // owner of the process, in TraceLayout::nodes
  std::array<std::uint32_t, kTraceThreads> lanes{1, 1, 1, 1, 0};      // number per thread
  std::array<std::uint32_t, kTraceThreads> first_tid{0, 0, 0, 0, 0};  // lanes follow one another
};

// A drawn sample: its tracks and their lanes.
struct TracedSample {
  const Timeline* timeline = nullptr;  // null: nothing to draw
  std::vector<std::size_t> device_of;  // index in the timeline's devices -> TraceLayout::devices
  SampleLanes lanes;
};

struct TraceLayout {
  static constexpr std::uint32_t kRunPid = 1, kRunTid = 1;
  std::vector<TraceNode> nodes;  // if there are several
  // A process each, or the one of their node; then those of invalidated samples, a process per
  // sample.
  std::vector<TraceDevice> devices;
  std::map<std::string, std::size_t> by_id;  // without those of invalidated samples
  std::vector<TracedSample> shown;           // samples by run; empty for cases that are not ok
  std::vector<std::vector<TracedSample>> invalidated;  // samples by run and invalidated sample
};

// Returns the layout, which points into `report`.
TraceLayout lay_out_trace(const Report& report);

// Returns "merkle leaves=100000 resident dynamic".
std::string traced_name(const RunRecord& run);

// Time of an event of a sample as drawn: never before it began, never of negative length, and at
// most twice the sample's length plus 1 ms. Later stamps are impossible, and importers accept no
// time beyond 25 days.
struct Drawn {
  Nanos begin{}, length{};
};
inline Drawn drawn(const Timeline& timeline, Nanos begin, Nanos end) {
  const Nanos whole = std::max(timeline.makespan, Nanos{});
  const Nanos latest = saturating_add(saturating_add(whole, whole), Nanos{1'000'000});
  const Nanos from = std::clamp(begin, Nanos{}, latest);
  return {from, std::clamp(end, from, latest) - from};
}

}  // namespace mgpu
