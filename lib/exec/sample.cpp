// RawSample -> Timeline.
#include "lib/exec/sample.hpp"

#include <algorithm>

namespace mgpu {

Timeline to_timeline(const RawSample& sample, std::span<const ClockMap> clocks) {
  Timeline timeline;
  timeline.devices = clocks.size();
  timeline.makespan = sample.makespan();
  timeline.merge_begin = sample.merge_begin - sample.begin;
  timeline.merge_end = sample.merge_end - sample.begin;
  timeline.merged_on = sample.merged_on;
  for (const RawBatch& batch : sample.batches) {
    const ClockMap& clock = clocks[batch.device.value];
    const auto host = [&](std::uint64_t stamp) { return clock.to_host(stamp) - sample.begin; };
    for (const RawCommand& raw : batch.commands) {
      timeline.commands.push_back({batch.device, raw.kind, batch.slice, raw.label, raw.bytes, host(raw.queued), host(raw.submitted),
                                   host(raw.started), host(raw.ended)});
    }
  }
  std::stable_sort(timeline.commands.begin(), timeline.commands.end(),
                   [](const Command& a, const Command& b) { return a.started < b.started; });
  timeline.spans = sample.spans;
  for (HostSpan& span : timeline.spans) {
    span.begin -= sample.begin;
    span.end -= sample.begin;
  }
  timeline.slices = sample.slices;
  for (SliceRecord& slice : timeline.slices) {
    slice.enqueued -= sample.begin;
    slice.finished -= sample.begin;
  }
  return timeline;
}

}  // namespace mgpu
