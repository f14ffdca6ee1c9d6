// Writes a report as Chrome trace-event JSON, appended as text: a document tree of 100,000 events
// would cost seconds and gigabytes.
#include "lib/report/trace_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <tuple>

#include "lib/base/quantity.hpp"
#include "lib/report/case_name.hpp"
#include "lib/report/fault_words.hpp"
#include "lib/report/json_build.hpp"
#include "lib/report/record_fields.hpp"

namespace mgpu {

namespace {

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

// Returns microseconds with three decimals, which are whole nanoseconds, exactly.
std::string us(Nanos t) { return fmt::format("{}.{:03}", t.count() / 1000, t.count() % 1000); }

class TraceText {
 public:
  explicit TraceText(const Report& report, const TraceExtras* extras = nullptr)
      : report_(report), extras_(extras), layout_(lay_out_trace(report)) {}

  std::string write() {
    out_ = "{\"traceEvents\":[\n";
    names();
    if (extras_ != nullptr) tracks();
    for (const Fault& fault : report_.faults) instant(fault, device_of(fault), Nanos{});
    for (std::size_t r = 0; r < report_.runs.size(); ++r) run(r);
    out_ += "\n],\"displayTimeUnit\":\"ns\",\"metadata\":";
    metadata();
    out_ += "}\n";
    return std::move(out_);
  }

 private:
  template <typename... Args>
  void event(fmt::format_string<Args...> format, const Args&... args) {
    add_event(format, fmt::make_format_args(args...));
  }
  void add_event(fmt::string_view format, fmt::format_args args) {
    if (!first_) out_ += ",\n";
    first_ = false;
    fmt::vformat_to(std::back_inserter(out_), format, args);
  }

  void name_process(std::uint32_t pid, std::uint32_t tid, std::string_view name,
                    std::uint32_t order) {
    event(R"({{"ph":"M","name":"process_name","pid":{},"tid":{},"args":{{"name":{}}}}})", pid, tid,
          json_string(name));
    event(
        R"({{"ph":"M","name":"process_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})",
        pid, tid, order);
  }

  void name_thread(std::uint32_t pid, std::uint32_t tid, std::string_view name) {
    event(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})", pid, tid,
          json_string(name));
    event(R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})",
          pid, tid, tid);
  }

  void names() {
    static constexpr std::array<const char*, kTraceThreads> threads = {
        "host worker", "upload", "compute", "download", "exchange"};
    name_process(TraceLayout::kRunPid, TraceLayout::kRunTid, "run", 0);
    name_thread(TraceLayout::kRunPid, TraceLayout::kRunTid, "cases");
    for (const TraceNode& node : layout_.nodes) {
      name_process(node.pid, node.clock_tid, node.name, node.pid);
      name_thread(node.pid, node.clock_tid, "clock");
    }
    for (const TraceDevice& d : layout_.devices) {
      if (!d.shares) name_process(d.pid, d.first_tid[0], d.name, d.pid);
      for (std::size_t thread = 0; thread < kTraceThreads; ++thread)
        for (std::uint32_t lane = 0; lane < d.lanes[thread]; ++lane)
          name_thread(d.pid, d.first_tid[thread] + lane,
                      d.prefix + (lane == 0 ? std::string(threads[thread])
                                            : fmt::format("{} ({})", threads[thread], lane + 1)));
    }
  }

  void slice(std::uint32_t pid, std::uint32_t tid, std::string_view name, std::string_view category,
             Drawn at, std::string_view args) {
    event(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":{},"cat":"{}","args":{{{}}}}})",
          pid, tid, us(base_ + at.begin), us(at.length), json_string(name), category, args);
  }

  // Draws tracks that no device has, in processes after those of the devices.
  void tracks() {
    std::uint32_t pid = TraceLayout::kRunPid, tid = TraceLayout::kRunTid;
    for (const TraceDevice& d : layout_.devices) {
      pid = std::max(pid, d.pid);
      tid = std::max(tid, d.first_tid.back() + d.lanes.back());
    }
    const std::string* process = nullptr;
    for (const TraceTrack& track : extras_->tracks) {
      if (track.events.empty()) continue;
      ++tid;
      if (process == nullptr || *process != track.process) {
        process = &track.process;
        ++pid;
        name_process(pid, tid, *process, pid);
      }
      name_thread(pid, tid, track.thread);
      Nanos reached{};
      for (const TraceTrack::Event& event : track.events) {
        const Nanos begin = std::max(event.begin, reached);
        reached = std::max(begin, event.end);
        slice(pid, tid, event.name, "call", {begin, reached - begin}, "");
      }
    }
  }

  std::string title_of(const RunRecord& run) const {
    return extras_ != nullptr ? extras_->title : traced_name(run);
  }

  void run(std::size_t r) {
    const RunRecord& run = report_.runs[r];
    for (const Fault& fault : run.faults)
      if (!fault.sample) instant(fault, device_of(fault), Nanos{});
    const TracedSample& sample = layout_.shown[r];
    const bool ran = sample.timeline != nullptr &&
                     (sample.timeline->makespan > Nanos{} || !sample.timeline->commands.empty());
    if (ran) {  // otherwise the result file says why not
      whole(sample, title_of(run), "case",
            fmt::format(R"("status":"{}","sample":{},"makespan_ns":{})", to_string(run.status),
                        run.sample_index, run.timeline.makespan.count()),
            run.devices);
      in_flight(sample);
      gauges(run);
      next();
    }
    for (std::size_t k = 0; k < run.invalidated.size(); ++k) invalidated(r, k);
  }

  // Draws an invalidated sample after the sample shown, in a process of its own, and its faults
  // also on the device's own tracks.
  void invalidated(std::size_t r, std::size_t k) {
    const RunRecord& run = report_.runs[r];
    const InvalidatedSample& lost = run.invalidated[k];
    const TracedSample& sample = layout_.invalidated[r][k];
    const std::string name = traced_name(run) + ", disturbed";
    const std::string args =
        fmt::format(R"("verify":"{}","reason":{},"makespan_ns":{})", to_string(lost.verify),
                    json_string(lost.reason), lost.time.count());
    if (sample.timeline != nullptr) {
      whole(sample, name, "disturbed", args, lost.devices.empty() ? run.devices : lost.devices);
    } else {
      length_ = std::max(lost.time, Nanos{});
      slice(TraceLayout::kRunPid, TraceLayout::kRunTid, name, "disturbed", {Nanos{}, length_},
            args);
    }
    for (const Fault& fault : run.faults) {
      if (fault.sample != k) continue;
      const Nanos at = std::clamp(fault.at.value_or(Nanos{}), Nanos{}, length_);
      instant(fault, device_of(fault), at);
      for (const std::size_t device : sample.device_of)
        if (layout_.devices[device].id == fault.device) instant(fault, layout_.devices[device], at);
    }
    next();
  }

  // Draws the sample on the run's track and on its devices' tracks.
  void whole(const TracedSample& sample, const std::string& name, const char* category,
             const std::string& args, const std::vector<std::string>& devices) {
    const Timeline& t = *sample.timeline;
    const Drawn whole = drawn(t, Nanos{}, t.makespan);
    slice(TraceLayout::kRunPid, TraceLayout::kRunTid, name, category, whole, args);
    if (t.merge_end > t.merge_begin) {
      const Nanos begin = std::clamp(t.merge_begin, Nanos{}, whole.length),
                  end = std::clamp(t.merge_end, begin, whole.length);
      slice(TraceLayout::kRunPid, TraceLayout::kRunTid, "merge", "merge", {begin, end - begin},
            fmt::format(R"("on":{})",
                        json_string(t.merged_on ? devices.at(t.merged_on->value) : "host")));
    }
    length_ = whole.length;
    clocks();
    spans(sample);
    commands(sample);
    arrows(sample);
  }

  // Draws the uncertainty of each node's clock as a slice of that length.
  void clocks() {
    for (const TraceNode& node : layout_.nodes) {
      if (!node.bound || *node.bound <= Nanos{}) continue;
      const Drawn at{Nanos{}, *node.bound};
      slice(node.pid, node.clock_tid, "clock within " + format_duration(*node.bound), "clock", at,
            "");
      reach(at);
    }
  }

  // Moves the begin to the next sample.
  void next() {
    // The gap also separates events with clock errors.
    base_ += length_ + std::max(Nanos{1000}, length_ / 20);
    length_ = {};
  }

  void instant(const Fault& fault, const TraceDevice& device, Nanos at) {
    const auto ns = [](const std::optional<Nanos>& t) {
      return t ? std::to_string(t->count()) : "null";
    };
    event(
        R"({{"ph":"i","s":"t","pid":{},"tid":{},"ts":{},"name":{},"cat":"fault","args":{{"kind":{},"phase":{},"what":{},"items_lost":{},"items_redone":{},"detection_ns":{},"recovery_ns":{}}}}})",
        device.pid, device.first_tid[0], us(base_ + at), json_string(what_happened(fault)),
        json_string(fault.kind), json_string(fault.phase), json_string(fault.what),
        fault.items_lost, fault.items_redone, ns(fault.detection), ns(fault.recovery));
  }

  const TraceDevice& device_of(const Fault& fault) const {
    return layout_.devices[layout_.by_id.at(fault.device)];
  }

  const TraceDevice& device(const TracedSample& sample, DeviceIndex index) const {
    return layout_.devices[sample.device_of.at(index.value)];
  }

  void reach(Drawn at) { length_ = std::max(length_, at.begin + at.length); }

  void spans(const TracedSample& sample) {
    const Timeline& t = *sample.timeline;
    for (std::size_t k = 0; k < t.spans.size(); ++k) {
      const TraceDevice& d = device(sample, t.spans[k].device);
      const Drawn at = drawn(t, t.spans[k].begin, t.spans[k].end);
      const char* state =
          t.spans[k].state == HostState::in_flight ? "in flight" : to_string(t.spans[k].state);
      slice(d.pid, d.first_tid[0] + sample.lanes.spans[k], state, "host", at, "");
      reach(at);
    }
  }

  std::uint32_t tid_of(const TracedSample& sample, std::size_t k) const {
    const Command& c = sample.timeline->commands[k];
    return device(sample, c.device).first_tid[1 + static_cast<std::size_t>(c.kind)] +
           sample.lanes.commands[k];
  }

  void commands(const TracedSample& sample) {
    const Timeline& t = *sample.timeline;
    std::map<std::pair<std::uint32_t, std::int32_t>, Items> items;
    for (const SliceRecord& s : t.slices) items[{s.device.value, s.slice}] = s.end - s.begin;
    for (std::size_t k = 0; k < t.commands.size(); ++k) {
      const Command& c = t.commands[k];
      const char* stage = c.slice == kPrepare   ? "prepare "
                          : c.slice == kCollect ? "collect "
                          : c.slice == kMerge   ? "merge "
                                                : "";
      const auto found = items.find({c.device.value, c.slice});
      const std::string of_slice =
          found == items.end() ? "" : fmt::format(R"("items":{},)", found->second);
      const std::string of_round = c.round ? fmt::format(R"("round":{},)", *c.round) : "";
      const std::string bytes =
          c.kind == CommandKind::compute ? "" : fmt::format(R"("bytes":{},)", c.bytes);
      const Drawn at = drawn(t, c.started, c.ended);
      slice(
          device(sample, c.device).pid, tid_of(sample, k),
          stage + (c.label.empty() ? to_string(c.kind) : c.label.text()), to_string(c.kind), at,
          fmt::format(
              R"("slice":{},{}{}{}"queued_ns":{},"submitted_ns":{},"started_ns":{},"ended_ns":{})",
              c.slice, of_round, of_slice, bytes, c.queued.count(), c.submitted.count(),
              c.started.count(), c.ended.count()));
      reach(at);
    }
  }

  // Draws arrows from the last upload of a slice to its first kernel, and from its last kernel to
  // its first download. Skips commands of length zero: importers find no open slice there.
  void arrows(const TracedSample& sample) {
    const Timeline& t = *sample.timeline;
    constexpr std::size_t none = static_cast<std::size_t>(-1);
    struct Ends {
      std::array<std::size_t, 3> first{none, none, none}, last{none, none, none};
    };
    std::map<std::pair<std::uint32_t, std::int32_t>, Ends> slices;
    for (std::size_t k = 0; k < t.commands.size(); ++k) {
      const Command& c = t.commands[k];
      if (c.kind == CommandKind::exchange || drawn(t, c.started, c.ended).length <= Nanos{})
        continue;
      Ends& e = slices[{c.device.value, c.slice}];
      const auto stage = static_cast<std::size_t>(c.kind);
      if (e.first[stage] == none || c.started < t.commands[e.first[stage]].started)
        e.first[stage] = k;
      if (e.last[stage] == none || c.ended > t.commands[e.last[stage]].ended) e.last[stage] = k;
    }
    for (const auto& [where, e] : slices)
      for (std::size_t stage = 0; stage < 2; ++stage)
        if (e.last[stage] != none && e.first[stage + 1] != none)
          arrow(sample, e.last[stage], e.first[stage + 1]);
    exchange_arrows(sample);
  }

  // Draws an arrow from the sender's last command to a device before the end of one with which that
  // device waited for the sender, or received. Both must be of the same iteration, as a sender may
  // be one ahead.
  void exchange_arrows(const TracedSample& sample) {
    const Timeline& t = *sample.timeline;
    // Sender, receiver, iteration.
    using Between = std::tuple<std::uint32_t, std::uint32_t, std::optional<std::uint32_t>>;
    std::map<Between, std::vector<std::size_t>> sent;  // values in order of end
    for (std::size_t k = 0; k < t.commands.size(); ++k) {
      const Command& c = t.commands[k];
      if (c.exchange && !c.exchange->arrives && drawn(t, c.started, c.ended).length > Nanos{})
        sent[{c.device.value, c.exchange->peer.value, c.round}].push_back(k);
    }
    for (auto& [between, commands] : sent)
      std::stable_sort(commands.begin(), commands.end(), [&](std::size_t a, std::size_t b) {
        return t.commands[a].ended < t.commands[b].ended;
      });
    for (std::size_t k = 0; k < t.commands.size(); ++k) {
      const Command& c = t.commands[k];
      if (!c.exchange || !c.exchange->arrives || drawn(t, c.started, c.ended).length <= Nanos{})
        continue;
      const auto found = sent.find({c.exchange->peer.value, c.device.value, c.round});
      if (found == sent.end()) continue;
      const auto after =
          std::upper_bound(found->second.begin(), found->second.end(), c.ended,
                           [&](Nanos end, std::size_t at) { return end < t.commands[at].ended; });
      if (after != found->second.begin()) arrow_into(sample, *std::prev(after), k);
    }
  }

  void arrow(const TracedSample& sample, std::size_t from, std::size_t to) {
    const Timeline& t = *sample.timeline;
    const Drawn source = drawn(t, t.commands[from].started, t.commands[from].ended);
    const Drawn target = drawn(t, t.commands[to].started, t.commands[to].ended);
    const Nanos leave = source.begin + source.length - Nanos{1};  // the last nanosecond inside it
    if (target.begin < leave) return;  // a clock error: an arrow back in time explains nothing
    draw_arrow(sample, from, leave, to, target.begin);
  }

  void draw_arrow(const TracedSample& sample, std::size_t from, Nanos leave, std::size_t to,
                  Nanos arrive) {
    const Timeline& t = *sample.timeline;
    const char* what = t.commands[from].kind == CommandKind::exchange ? "exchange" : "slice";
    ++flows_;
    event(R"({{"ph":"s","pid":{},"tid":{},"ts":{},"name":"{}","cat":"{}","id":{}}})",
          device(sample, t.commands[from].device).pid, tid_of(sample, from), us(base_ + leave),
          what, what, flows_);
    event(R"({{"ph":"f","bp":"e","pid":{},"tid":{},"ts":{},"name":"{}","cat":"{}","id":{}}})",
          device(sample, t.commands[to].device).pid, tid_of(sample, to), us(base_ + arrive), what,
          what, flows_);
  }

  // Draws an arrow to the end of a command that was running before the data it waited for arrived.
  void arrow_into(const TracedSample& sample, std::size_t from, std::size_t to) {
    const Timeline& t = *sample.timeline;
    const Drawn source = drawn(t, t.commands[from].started, t.commands[from].ended);
    const Drawn target = drawn(t, t.commands[to].started, t.commands[to].ended);
    const Nanos leave = source.begin + source.length - Nanos{1},
                arrive = target.begin + target.length - Nanos{1};
    if (arrive < leave) return;
    draw_arrow(sample, from, leave, to, arrive);
  }

  void in_flight(const TracedSample& sample) {
    const Timeline& t = *sample.timeline;
    std::map<std::pair<std::size_t, Nanos>, int> steps;  // (device, time) -> change
    for (const SliceRecord& s : t.slices) {
      const std::size_t d = sample.device_of.at(s.device.value);
      const Drawn at = drawn(t, s.enqueued, s.finished);
      ++steps[{d, at.begin}];
      --steps[{d, at.begin + at.length}];
      steps[{d, Nanos{}}] += 0;  // counters keep their last value: every case begins at 0
      reach(at);
    }
    int value = 0;
    for (const auto& [where, change] : steps) {
      const TraceDevice& d = layout_.devices[where.first];
      value += change;  // the steps of each device add up to 0
      event(R"({{"ph":"C","pid":{},"tid":{},"ts":{},"name":"slices in flight","args":{{{}:{}}}}})",
            d.pid, d.first_tid[0], us(base_ + where.second), json_string("slices " + d.id), value);
    }
  }

  // Draws gauges. A counter keeps its value until the next: a sample's first reading is drawn from
  // its begin on.
  void gauges(const RunRecord& run) {
    std::set<std::string> begun;
    for (const TelemetryPoint& point : run.telemetry_points) {
      const TraceDevice* owner = nullptr;
      if (const auto found = layout_.by_id.find(point.of); found != layout_.by_id.end())
        owner = &layout_.devices[found->second];
      if (owner == nullptr && point.of != kHost) continue;
      const std::uint32_t pid = owner != nullptr ? owner->pid : TraceLayout::kRunPid;
      const std::uint32_t tid = owner != nullptr ? owner->first_tid[0] : TraceLayout::kRunTid;
      const Nanos at = begun.insert(point.of).second
                           ? Nanos{}
                           : drawn(run.timeline, point.reading.at, point.reading.at).begin;
      for (const GaugeInfo& gauge : kGaugeTable) {
        const double value = point.reading[gauge.gauge] * gauge.factor;
        if (!std::isfinite(value)) continue;
        event(R"({{"ph":"C","pid":{},"tid":{},"ts":{},"name":"{}","args":{{{}:{}}}}})", pid, tid,
              us(base_ + at), gauge.label, json_string(std::string(gauge.label) + ' ' + point.of),
              value);
      }
      reach({at, Nanos{}});
    }
  }

  void metadata() {
    out_ += fmt::format(R"({{"tool":"mgpu-bench","version":{},"git":{},"clocks":{{)",
                        json_string(report_.tool.version), json_string(report_.tool.git));
    bool first = true;
    for (const DeviceRecord& d : report_.devices) {
      const std::string drift =
          std::isfinite(d.clock.drift_ppb) ? fmt::format("{}", d.clock.drift_ppb) : "null";
      out_ +=
          fmt::format(R"({}{}:{{"method":{},"offset_ns":{},"drift_ppb":{},"uncertainty_ns":{}}})",
                      first ? "" : ",", json_string(d.device.id), json_string(d.clock.method),
                      d.clock.offset_ns(), drift, d.clock.uncertainty.count());
      first = false;
    }
    out_ += '}';
    if (report_.cluster)
      out_ += ",\"cluster\":" + flat_json(Kind<ClusterRecord>::write(*report_.cluster));
    out_ += '}';
  }

  const Report& report_;
  const TraceExtras* extras_;  // null: there are none
  TraceLayout layout_;
  std::string out_;
  bool first_ = true;
  Nanos base_{}, length_{};  // begin and length of the sample being written
  std::uint64_t flows_ = 0;
};

}  // namespace

std::string to_chrome_trace(const Report& report) { return TraceText(report).write(); }

std::string to_chrome_trace(const Report& report, const TraceExtras& extras) {
  return TraceText(report, &extras).write();
}

// Processes, threads and lanes of a trace. Importers drop or move slices that overlap on one
// thread, so commands that overlap because of a clock error get a lane of their own.

namespace {

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return out;
}

// Returns "GPU 0: NVIDIA H200 0000:1a:00.0".
std::string process_name(const DeviceRecord& record) {
  const Device& d = record.device;
  const std::string handicap = record.handicap.any() ? " (" + in_words(record.handicap) + ')' : "";
  return upper(to_string(d.type)) + ' ' + std::to_string(record.rank) + ": " + d.name + ' ' +
         d.pci.value_or(d.id) + handicap;
}

// Assigns lanes to the events of each (device, thread) of one sample, and counts the lanes needed.
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

// Adds all devices; a file edited by hand may name devices that its list lacks.
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

// Returns "node 1: host7 (clock within 2.10 us)".
std::string node_name(const NodeRecord& record, std::optional<Nanos> bound) {
  std::string name = "node " + std::to_string(record.node) + ": " + record.host;
  if (bound) name += " (clock within " + format_duration(*bound) + ')';
  return record.lost ? name + ", lost" : name;
}

// Returns the width of the clock's bounds; events of two nodes that are closer than this have no
// known order.
std::optional<Nanos> clock_bound(const NodeRecord& record) {
  std::optional<Nanos> widest;
  for (const auto& offset : {record.begin, record.end})
    if (offset) widest = std::max(widest.value_or(Nanos{}), offset->high - offset->low);
  return widest;
}

// Adds a process per node; its devices become threads of it.
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

// Adds a process for all devices of an invalidated sample, named after the case and the fault.
void add_disturbed_process(const RunRecord& run, std::size_t k, TraceLayout& layout,
                           TracedSample& sample) {
  std::string what;
  for (const Fault& fault : run.faults)
    if (fault.sample == k) what += (what.empty() ? "" : ", ") + what_happened(fault);
  const std::vector<std::string>& ids =
      run.invalidated[k].devices.empty() ? run.devices : run.invalidated[k].devices;
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
  using Busy = std::pair<Nanos, std::uint32_t>;  // end of the last event, lane
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
    std::vector<TracedSample>& samples = layout.invalidated.emplace_back();
    for (std::size_t k = 0; k < run.invalidated.size(); ++k) {
      TracedSample& sample = samples.emplace_back();
      if (run.invalidated[k].timeline.devices == 0) continue;
      add_disturbed_process(run, k, layout, sample);
      if (run.invalidated[k].timeline.devices > sample.device_of.size())
        continue;  // the file does not name all of its devices
      add_lanes(run.invalidated[k].timeline, layout, sample);
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
