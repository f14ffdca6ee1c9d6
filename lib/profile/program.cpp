// Parts of a program's record, and its timeline.
#include "lib/profile/program.hpp"

#include <algorithm>
#include <limits>

#include "lib/profile/intervals.hpp"

namespace mgpu {

namespace {

constexpr std::uint32_t kLeftOut = std::numeric_limits<std::uint32_t>::max();

// Replaces old indexes by new ones; drops those that were left out.
void renumber(std::vector<std::uint32_t>& indexes, const std::vector<std::uint32_t>& now) {
  std::vector<std::uint32_t> kept;
  for (const std::uint32_t index : indexes)
    if (now[index] != kLeftOut) kept.push_back(now[index]);
  indexes = std::move(kept);
}

// Returns spans of one device that cover [0, makespan): in flight where `flying` does, else idle.
void add_spans(DeviceIndex device, const TimeSet& flying, Nanos makespan, Timeline& timeline) {
  Nanos reached{};
  const auto add = [&](HostState state, Nanos end) {
    if (end > reached) timeline.spans.push_back({device, state, reached, end});
    reached = std::max(reached, end);
  };
  for (const Interval& part : flying.parts()) {
    add(HostState::idle, std::clamp(part.begin, Nanos{}, makespan));
    add(HostState::in_flight, std::clamp(part.end, Nanos{}, makespan));
  }
  add(HostState::idle, makespan);
}

// Numbers the groups of a device's commands that begin with an upload after something else.
class SliceNumbers {
 public:
  std::int32_t next(CommandKind kind) {
    if (kind == CommandKind::upload && last_ != CommandKind::upload && any_) ++slice_;
    any_ = true;
    last_ = kind;
    return slice_;
  }

 private:
  CommandKind last_ = CommandKind::upload;
  bool any_ = false;
  std::int32_t slice_ = 0;
};

}  // namespace

const char* to_string(CallKind kind) {
  switch (kind) {
    case CallKind::enqueue:
      return "enqueue";
    case CallKind::wait:
      return "wait";
    case CallKind::flush:
      return "flush";
    case CallKind::build:
      return "build";
    case CallKind::other:
      break;
  }
  return "other";
}

ProgramRecord part_of(const ProgramRecord& record, Nanos from, Nanos length) {
  ProgramRecord part = record;
  part.calls.clear();
  part.commands.clear();
  part.makespan = length;
  std::vector<std::uint32_t> calls(record.calls.size(), kLeftOut),
      commands(record.commands.size(), kLeftOut);
  const Nanos to = saturating_add(from, length);
  for (std::size_t k = 0; k < record.calls.size(); ++k) {
    const HostCall& call = record.calls[k];
    if (call.end <= from || call.begin >= to) continue;
    calls[k] = static_cast<std::uint32_t>(part.calls.size());
    HostCall& cut = part.calls.emplace_back(call);
    cut.begin = std::max(call.begin - from, Nanos{});
    cut.end = std::min(call.end - from, length);
  }
  for (std::size_t k = 0; k < record.commands.size(); ++k) {
    const ProgramCommand& command = record.commands[k];
    if (command.ended <= from || command.started >= to) continue;
    commands[k] = static_cast<std::uint32_t>(part.commands.size());
    ProgramCommand& cut = part.commands.emplace_back(command);
    for (Nanos* time : {&cut.queued, &cut.submitted}) *time -= from;
    cut.started = std::max(command.started - from, Nanos{});
    cut.ended = std::min(command.ended - from, length);
    if (calls[command.call] == kLeftOut) {  // enqueued before: as if at the beginning
      calls[command.call] = static_cast<std::uint32_t>(part.calls.size());
      HostCall& call = part.calls.emplace_back(record.calls[command.call]);
      call.begin = call.end = Nanos{};
    }
    cut.call = calls[command.call];
  }
  for (HostCall& call : part.calls) renumber(call.waited, commands);
  for (ProgramCommand& command : part.commands) renumber(command.after, commands);
  return part;
}

Timeline timeline_of(const ProgramRecord& record) {
  Timeline timeline;
  timeline.devices = record.devices.size();
  timeline.makespan = timeline.merge_begin = timeline.merge_end = record.makespan;
  for (const ProgramDevice& device : record.devices)
    timeline.uncertainty.push_back(device.clock.uncertainty);
  std::vector<std::vector<Interval>> flying(record.devices.size());
  std::vector<SliceNumbers> slices(record.devices.size());
  for (const ProgramCommand& c : record.commands) {
    if (c.marker || !c.stamped) continue;
    timeline.commands.push_back({c.device, c.kind, slices[c.device.value].next(c.kind), c.label,
                                 c.kind == CommandKind::compute ? 0 : c.bytes, c.queued,
                                 c.submitted, c.started, c.ended});
    flying[c.device.value].push_back({std::min(record.calls[c.call].begin, c.started), c.ended});
  }
  std::stable_sort(timeline.commands.begin(), timeline.commands.end(),
                   [](const Command& a, const Command& b) { return a.started < b.started; });
  for (std::uint32_t d = 0; d < flying.size(); ++d)
    add_spans({d}, TimeSet(std::move(flying[d])), record.makespan, timeline);
  return timeline;
}

Timeline part_of(const Timeline& timeline, Nanos from, Nanos length) {
  Timeline part;
  part.devices = timeline.devices;
  part.makespan = part.merge_begin = part.merge_end = length;
  part.uncertainty = timeline.uncertainty;
  const auto cut = [&](Nanos time) { return std::clamp(time - from, Nanos{}, length); };
  for (Command c : timeline.commands) {
    if (c.ended <= from || c.started >= from + length) continue;
    c.queued -= from;
    c.submitted -= from;
    c.started = cut(c.started);
    c.ended = cut(c.ended);
    part.commands.push_back(c);
  }
  for (HostSpan span : timeline.spans) {
    span.begin = cut(span.begin);
    span.end = cut(span.end);
    if (span.end > span.begin) part.spans.push_back(span);
  }
  return part;
}

}  // namespace mgpu
