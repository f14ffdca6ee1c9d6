// Processes, threads and lanes of a trace. Importers drop or move slices that overlap on one thread, so commands that a clock error
// made overlap get a lane of their own.
#include "lib/report/trace_lanes.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <queue>

namespace mgpu {

namespace {

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return out;
}

// "GPU 0: NVIDIA H200 0000:1a:00.0"
std::string process_name(const DeviceRecord& record) {
  const Device& d = record.device;
  const std::string handicap = record.handicap.any() ? " (" + in_words(record.handicap) + ')' : "";
  return upper(to_string(d.type)) + ' ' + std::to_string(record.rank) + ": " + d.name + ' ' + d.pci.value_or(d.id) + handicap;
}

// Lanes of the events of each (device, thread) of one run.
template <typename Event, typename Thread, typename Times>
std::vector<std::uint32_t> lanes_of(const std::vector<Event>& events, const std::vector<std::size_t>& device_of,
                                    std::vector<TraceDevice>& devices, Thread thread, Times times) {
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::size_t>> groups;
  for (std::size_t k = 0; k < events.size(); ++k) groups[{device_of[events[k].device.value], thread(events[k])}].push_back(k);
  std::vector<std::uint32_t> lanes(events.size());
  for (const auto& [where, members] : groups) {
    std::vector<std::pair<Nanos, Nanos>> intervals;
    for (const std::size_t k : members) {
      const Drawn d = times(events[k]);
      intervals.emplace_back(d.begin, d.begin + d.length);
    }
    const auto assigned = assign_lanes(intervals);
    std::uint32_t& needed = devices[where.first].lanes[where.second];
    for (std::size_t m = 0; m < members.size(); ++m) {
      lanes[members[m]] = assigned[m];
      needed = std::max(needed, assigned[m] + 1);
    }
  }
  return lanes;
}

}  // namespace

std::vector<std::uint32_t> assign_lanes(const std::vector<std::pair<Nanos, Nanos>>& begin_end) {
  std::vector<std::size_t> order(begin_end.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return begin_end[a] < begin_end[b]; });
  using Busy = std::pair<Nanos, std::uint32_t>;  // until when, which lane
  std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy;
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> free;
  std::uint32_t opened = 0;
  std::vector<std::uint32_t> lanes(begin_end.size());
  for (const std::size_t k : order) {
    const auto [begin, end] = begin_end[k];
    for (; !busy.empty() && busy.top().first <= begin; busy.pop()) free.push(busy.top().second);
    if (free.empty()) free.push(opened++);
    lanes[k] = free.top();
    free.pop();
    busy.emplace(std::max(begin, end), lanes[k]);
  }
  return lanes;
}

TraceLayout lay_out_trace(const Report& report) {
  TraceLayout layout;
  std::map<std::string, std::size_t> by_id;
  const auto add = [&](const std::string& id, const std::string& name) {
    TraceDevice device;
    device.id = id;
    device.name = name;
    by_id.emplace(id, layout.devices.size());
    layout.devices.push_back(std::move(device));
  };
  for (const DeviceRecord& d : report.devices) add(d.device.id, process_name(d));
  for (const RunRecord& run : report.runs) {
    std::vector<std::size_t> device_of;
    for (const std::string& id : run.devices) {
      if (!by_id.contains(id)) add(id, "device " + id);  // a file put together by hand may lack it
      device_of.push_back(by_id[id]);
    }
    RunLanes lanes;
    lanes.commands = lanes_of(
        run.timeline.commands, device_of, layout.devices, [](const Command& c) { return 1 + static_cast<std::size_t>(c.kind); },
        [](const Command& c) { return drawn(c.started, c.ended); });
    lanes.spans = lanes_of(
        run.timeline.spans, device_of, layout.devices, [](const HostSpan&) { return std::size_t{0}; },
        [](const HostSpan& s) { return drawn(s.begin, s.end); });
    layout.runs.push_back(std::move(lanes));
    layout.device_of.push_back(std::move(device_of));
  }
  std::uint32_t pid = TraceLayout::kRunPid, tid = TraceLayout::kRunTid;
  for (TraceDevice& device : layout.devices) {
    device.pid = ++pid;
    for (std::size_t thread = 0; thread < kTraceThreads; ++thread) {
      device.first_tid[thread] = tid + 1;
      tid += device.lanes[thread];
    }
  }
  return layout;
}

}  // namespace mgpu
