// Processes, threads and lanes of a trace. Importers drop or move slices that overlap on one
// thread, so commands that a clock error made overlap get a lane of their own.
#include "lib/report/trace_lanes.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <queue>

#include "lib/base/quantity.hpp"
#include "lib/report/case_name.hpp"
#include "lib/report/fault_words.hpp"

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
  return upper(to_string(d.type)) + ' ' + std::to_string(record.rank) + ": " + d.name + ' ' +
         d.pci.value_or(d.id) + handicap;
}

// Lanes of the events of each (device, thread) of one sample.
template <typename Event, typename Thread, typename Times>
std::vector<std::uint32_t> lanes_of(const std::vector<Event>& events,
                                    const std::vector<std::size_t>& device_of,
                                    std::vector<TraceDevice>& devices, Thread thread, Times times) {
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::size_t>> groups;
  for (std::size_t k = 0; k < events.size(); ++k)
    groups[{device_of[events[k].device.value], thread(events[k])}].push_back(k);
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

// A file put together by hand may name devices that its list lacks.
void add_processes(const Report& report, TraceLayout& layout) {
  const auto add = [&](const std::string& id, const std::string& name) {
    if (!layout.by_id.emplace(id, layout.devices.size()).second) return;
    TraceDevice& device = layout.devices.emplace_back();
    device.id = id;
    device.name = name;
  };
  for (const DeviceRecord& d : report.devices) add(d.device.id, process_name(d));
  for (const Fault& fault : report.faults) add(fault.device, "device " + fault.device);
  for (const RunRecord& run : report.runs) {
    for (const std::string& id : run.devices) add(id, "device " + id);
    for (const Fault& fault : run.faults) add(fault.device, "device " + fault.device);
  }
}

// "node 1: host7 (clock within 2.10 us)"
std::string node_name(const NodeRecord& record, std::optional<Nanos> bound) {
  std::string name = "node " + std::to_string(record.node) + ": " + record.host;
  if (bound) name += " (clock within " + format_duration(*bound) + ')';
  return record.lost ? name + ", lost" : name;
}

// Events of two nodes that are closer than this are in no order.
std::optional<Nanos> clock_bound(const NodeRecord& record) {
  std::optional<Nanos> widest;
  for (const auto& offset : {record.begin, record.end})
    if (offset) widest = std::max(widest.value_or(Nanos{}), offset->high - offset->low);
  return widest;
}

// Devices of a node are threads of its process.
void add_nodes(const Report& report, TraceLayout& layout) {
  if (!report.cluster || report.cluster->nodes.size() < 2) return;
  std::map<std::uint32_t, std::size_t> by_number;
  for (const NodeRecord& record : report.cluster->nodes) {
    by_number.emplace(record.node, layout.nodes.size());
    const auto bound = clock_bound(record);
    layout.nodes.push_back({record.node, node_name(record, bound), 0, 0, bound});
  }
  for (const DeviceRecord& record : report.devices) {
    if (!record.device.node || !by_number.contains(record.device.node->number)) continue;
    TraceDevice& device = layout.devices[layout.by_id.at(record.device.id)];
    device.node = by_number[record.device.node->number];
    device.shares = true;
    device.prefix = device.name + ", ";
  }
}

// One process for all devices of a disturbed sample, named for the case and the fault.
void add_disturbed_process(const RunRecord& run, std::size_t k, TraceLayout& layout,
                           TracedSample& sample) {
  std::string what;
  for (const Fault& fault : run.faults)
    if (fault.sample == k) what += (what.empty() ? "" : ", ") + what_happened(fault);
  const std::vector<std::string>& ids =
      run.disturbed[k].devices.empty() ? run.devices : run.disturbed[k].devices;
  for (const std::string& id : ids) {
    sample.device_of.push_back(layout.devices.size());
    TraceDevice& device = layout.devices.emplace_back();
    device.id = id;
    device.name = traced_name(run) + ": " + (what.empty() ? "disturbed" : what);
    device.prefix = id + ' ';
    device.shares = sample.device_of.size() > 1;
  }
}

void add_lanes(const Timeline& t, TraceLayout& layout, TracedSample& sample) {
  sample.timeline = &t;
  sample.lanes.commands = lanes_of(
      t.commands, sample.device_of, layout.devices,
      [](const Command& c) { return 1 + static_cast<std::size_t>(c.kind); },
      [&](const Command& c) { return drawn(t, c.started, c.ended); });
  sample.lanes.spans = lanes_of(
      t.spans, sample.device_of, layout.devices, [](const HostSpan&) { return std::size_t{0}; },
      [&](const HostSpan& s) { return drawn(t, s.begin, s.end); });
}

}  // namespace

std::vector<std::uint32_t> assign_lanes(const std::vector<std::pair<Nanos, Nanos>>& begin_end) {
  std::vector<std::size_t> order(begin_end.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return begin_end[a] < begin_end[b]; });
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

std::string traced_name(const RunRecord& run) {
  std::string name = run.suite;
  for (const auto& [key, value] : run.params) name += ' ' + key + '=' + param_text(value);
  return name + ' ' + to_string(run.mode) + ' ' + run.strategy;
}

TraceLayout lay_out_trace(const Report& report) {
  TraceLayout layout;
  add_processes(report, layout);
  add_nodes(report, layout);
  for (const RunRecord& run : report.runs) {
    TracedSample& sample = layout.shown.emplace_back();
    if (run.status != Status::ok) continue;
    for (const std::string& id : run.devices) sample.device_of.push_back(layout.by_id.at(id));
    add_lanes(run.timeline, layout, sample);
  }
  for (const RunRecord& run : report.runs) {
    std::vector<TracedSample>& samples = layout.disturbed.emplace_back();
    for (std::size_t k = 0; k < run.disturbed.size(); ++k) {
      TracedSample& sample = samples.emplace_back();
      if (run.disturbed[k].timeline.devices == 0) continue;
      add_disturbed_process(run, k, layout, sample);
      if (run.disturbed[k].timeline.devices > sample.device_of.size())
        continue;  // of devices that the file does not name
      add_lanes(run.disturbed[k].timeline, layout, sample);
    }
  }
  std::uint32_t pid = TraceLayout::kRunPid, tid = TraceLayout::kRunTid;
  for (TraceNode& node : layout.nodes) {
    node.pid = ++pid;
    node.clock_tid = ++tid;
  }
  for (TraceDevice& device : layout.devices) {
    device.pid = device.node ? layout.nodes[*device.node].pid : device.shares ? pid : ++pid;
    for (std::size_t thread = 0; thread < kTraceThreads; ++thread) {
      device.first_tid[thread] = tid + 1;
      tid += device.lanes[thread];
    }
  }
  return layout;
}

}  // namespace mgpu
