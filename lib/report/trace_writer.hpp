// Chrome trace-event JSON of a report: opens in Perfetto, chrome://tracing and Tracy. One process
// per device with a thread per queue, one process for the run (strategies, samples, merge).
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

// Cases follow one another on the time axis, zero-based microseconds with fractions: of each the
// sample shown, then those that a fault disturbed, in a process of their own. Faults are instants
// on their device's worker. Clock method, offset, drift and uncertainty of each device are in
// "metadata".
std::string to_chrome_trace(const Report& report);

// Says where each event goes in a trace: which process, which thread, which lane of it. Internal to
// lib/report.

// Threads of a device's process: the host's worker, then one each for uploads, kernels, downloads
// and exchanges with other devices.
inline constexpr std::size_t kTraceThreads = 5;

// Interval partitioning: the lowest-numbered lane whose last event has ended by the time one
// begins, so that events of a lane never overlap. Lanes are in the order of `begin_end`; O(n log
// n). Reversed intervals count as empty.
std::vector<std::uint32_t> assign_lanes(const std::vector<std::pair<Nanos, Nanos>>& begin_end);

// How one sample is laid out: a lane for each command and span.
struct SampleLanes {
  std::vector<std::uint32_t> commands, spans;  // parallel to the timeline's
};

// A node of several: one process with a thread that shows how exactly its clock is known; its
// devices' threads come after that.
struct TraceNode {
  std::uint32_t node = 0;
  std::string name;  // of the process
  std::uint32_t pid = 0, clock_tid = 0;
  std::optional<Nanos>
      bound;  // how wide the bounds of its clock are; none: it is the record's, or nothing is known
};

// The tracks of one device: a process of the trace, or a part of one that several devices share.
struct TraceDevice {
  std::string id, name;   // of the process
  std::string prefix;     // of its threads' names, where devices share a process: "0:1 "
  std::uint32_t pid = 0;  // that of the device before it where they share one
  bool shares = false;
  std::optional<std::size_t> node;  // whose process that is, in TraceLayout::nodes
  std::array<std::uint32_t, kTraceThreads> lanes{1, 1, 1, 1, 0};      // how many each thread needs
  std::array<std::uint32_t, kTraceThreads> first_tid{0, 0, 0, 0, 0};  // lanes follow one another
};

// A sample as it is drawn: whose tracks, and which lanes of them.
struct TracedSample {
  const Timeline* timeline = nullptr;  // null: there is none to draw
  std::vector<std::size_t> device_of;  // index in the timeline's devices -> TraceLayout::devices
  SampleLanes lanes;
};

struct TraceLayout {
  static constexpr std::uint32_t kRunPid = 1, kRunTid = 1;
  std::vector<TraceNode> nodes;      // where there are several
  std::vector<TraceDevice> devices;  // a process each, or each node's one; after them those of
                                     // disturbed samples, a process for each sample
  std::map<std::string, std::size_t> by_id;          // but those of disturbed samples
  std::vector<TracedSample> shown;                   // by run: none of cases that are not ok
  std::vector<std::vector<TracedSample>> disturbed;  // by run, by disturbed sample
};

// Points into `report`.
TraceLayout lay_out_trace(const Report& report);

// "merkle leaves=100000 resident dynamic"
std::string traced_name(const RunRecord& run);

// Time events of a sample as drawn: never before it began, never of negative length, and not later
// than the sample's length, once more that and 1 ms: stamps further out are impossible, and
// importers take no time beyond 25 days.
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
