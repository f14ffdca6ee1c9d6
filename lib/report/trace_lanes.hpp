// Where each event of a report goes in a trace: which process, which thread, which lane of it. Internal to lib/report.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/report/record.hpp"

namespace mgpu {

// Threads of a device's process: the host's worker, then a queue each for upload, compute, download.
inline constexpr std::size_t kTraceThreads = 4;

// Interval partitioning: the lowest-numbered lane whose last event has ended by the time one begins, so that events of a lane never
// overlap. Lanes are in the order of `begin_end`; O(n log n). Reversed intervals count as empty.
std::vector<std::uint32_t> assign_lanes(const std::vector<std::pair<Nanos, Nanos>>& begin_end);

// How one run is laid out: a lane for each command and span.
struct RunLanes {
  std::vector<std::uint32_t> commands, spans;  // parallel to the timeline's
};

// One process of the trace.
struct TraceDevice {
  std::string id, name;
  std::uint32_t pid = 0;
  std::array<std::uint32_t, kTraceThreads> lanes{1, 1, 1, 1};      // how many each thread needs: at least one
  std::array<std::uint32_t, kTraceThreads> first_tid{0, 0, 0, 0};  // lanes follow one another
};

struct TraceLayout {
  static constexpr std::uint32_t kRunPid = 1, kRunTid = 1;
  std::vector<TraceDevice> devices;
  std::vector<std::vector<std::size_t>> device_of;  // [run][index in the run's devices] -> devices
  std::vector<RunLanes> runs;
};

TraceLayout lay_out_trace(const Report& report);

// Time events of a run as drawn: never before the sample began, never of negative length.
struct Drawn {
  Nanos begin{}, length{};
};
inline Drawn drawn(Nanos begin, Nanos end) {
  const Nanos from = begin < Nanos{} ? Nanos{} : begin;
  return {from, end < from ? Nanos{} : end - from};
}

}  // namespace mgpu
