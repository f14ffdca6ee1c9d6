// RawSample -> Timeline.
#include "lib/exec/sample.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "lib/base/quantity.hpp"
#include "lib/base/units.hpp"

namespace mgpu {

std::uint64_t length_of_union(std::vector<std::pair<std::uint64_t, std::uint64_t>> stamps) {
  std::sort(stamps.begin(), stamps.end());
  std::uint64_t reached = 0, length = 0;
  for (const auto& [started, ended] : stamps) {
    const std::uint64_t from = std::max(started, reached);
    if (ended <= from) continue;
    length += ended - from;
    reached = ended;
  }
  return length;
}

Timeline to_timeline(const RawSample& sample, std::span<const ClockMap> clocks) {
  Timeline timeline;
  timeline.devices = clocks.size();
  timeline.makespan = sample.makespan();
  for (const ClockMap& clock : clocks) timeline.uncertainty.push_back(clock.uncertainty);
  timeline.merge_begin = sample.merge_begin - sample.begin;
  timeline.merge_end = sample.merge_end - sample.begin;
  timeline.merged_on = sample.merged_on;
  for (const RawBatch& batch : sample.batches) {
    const ClockMap& clock = clocks[batch.device.value];
    const auto host = [&](std::uint64_t stamp) {
      return std::clamp(saturating_subtract(clock.to_host(stamp), sample.begin), -kFarthest,
                        kFarthest);
    };
    for (const RawCommand& raw : batch.commands) {
      timeline.commands.push_back({batch.device, raw.kind, batch.slice, raw.label, raw.bytes,
                                   host(raw.queued), host(raw.submitted), host(raw.started),
                                   host(raw.ended), raw.exchange, raw.round});
    }
  }
  std::stable_sort(timeline.commands.begin(), timeline.commands.end(),
                   [](const Command& a, const Command& b) { return a.started < b.started; });
  timeline.spans = sample.spans;
  for (HostSpan& span : timeline.spans) {
    span.begin -= sample.begin;
    span.end -= sample.begin;
  }
  for (const RawSlice& raw : sample.slices) {
    if (raw.lost) continue;
    SliceRecord& slice = timeline.slices.emplace_back(raw);
    slice.enqueued -= sample.begin;
    slice.finished -= sample.begin;
  }
  return timeline;
}

Recovery recovery_of(const RawSample& sample, const DeviceFault& fault) {
  Recovery recovery;
  Nanos last{};
  for (const RawSlice& slice : sample.slices) {
    const Nanos finished = slice.finished - sample.begin;
    if (slice.lost || finished < fault.at) continue;
    for (const Slice& lost : fault.lost) {
      const Items begin = std::max(lost.begin, slice.begin), end = std::min(lost.end, slice.end);
      if (begin >= end) continue;
      recovery.items += end - begin;
      last = std::max(last, finished - fault.at);
    }
  }
  if (recovery.items >= fault.items_lost) recovery.time = last;
  return recovery;
}

RawSample joined(RawSample first, RawSample then, std::uint32_t round,
                 std::span<const DeviceIndex> devices) {
  const auto append = [](auto& all, auto& more) {
    all.insert(all.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
  };
  const Nanos later = then.begin - first.begin;
  for (DeviceFault& fault : first.faults) {
    if (!fault.restarted) fault.restarted = {round, later - fault.at};
  }
  for (RawSlice& slice : first.slices) slice.lost = true;
  std::int32_t next = 0;
  for (const RawBatch& batch : first.batches) next = std::max(next, batch.slice + 1);
  for (const RawSlice& slice : first.slices) next = std::max(next, slice.slice + 1);
  const auto place = [&](DeviceIndex& device) { device = devices[device.value]; };
  for (RawBatch& batch : then.batches) {
    place(batch.device);
    if (batch.slice >= 0) batch.slice += next;
  }
  for (HostSpan& span : then.spans) place(span.device);
  for (RawSlice& slice : then.slices) {
    place(slice.device);
    slice.slice += next;
  }
  for (DeviceFault& fault : then.faults) {
    place(fault.device);
    fault.at += later;
  }
  if (then.merged_on) place(*then.merged_on);
  append(first.batches, then.batches);
  append(first.spans, then.spans);
  append(first.slices, then.slices);
  append(first.faults, then.faults);
  first.end = then.end;
  first.merge_begin = then.merge_begin;
  first.merge_end = then.merge_end;
  first.merged_on = then.merged_on;
  first.decision += then.decision;
  first.failure = std::move(then.failure);
  first.interrupted = then.interrupted;
  return first;
}

Items items_moved(const RawSample& sample) {
  Items moved = 0;
  for (const RawSlice& slice : sample.slices) {
    if (slice.lost) continue;
    Items begin = 0;
    for (std::uint32_t i = 0; i < sample.first_shares.size(); ++i) {
      const Items end = begin + sample.first_shares[i], from = std::max(begin, slice.begin),
                  to = std::min(end, slice.end);
      if (slice.device != DeviceIndex{i} && to > from) moved += to - from;
      begin = end;
    }
  }
  return moved;
}

SampleShare share_of(const RawSample& sample, std::size_t devices) {
  SampleShare share;
  share.items.assign(devices, 0);
  share.busy.assign(devices, Nanos{});
  share.makespan = sample.makespan();
  for (const RawSlice& slice : sample.slices) {
    if (!slice.lost) share.items[slice.device.value] += slice.end - slice.begin;
  }
  std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>> stamps(devices);
  for (const RawBatch& batch : sample.batches) {
    for (const RawCommand& command : batch.commands)
      if (!command.exchange || batch.slice < 0)
        stamps[batch.device.value].push_back({command.started, command.ended});
  }
  for (std::size_t i = 0; i < devices; ++i)
    share.busy[i] = Nanos{static_cast<std::int64_t>(length_of_union(std::move(stamps[i])))};
  // Scales the busy time before a rebalance to the device's last share.
  for (std::size_t i = 0; i < devices && !sample.moves.empty(); ++i) {
    double done = 0;  // items times iterations
    for (std::size_t k = 0; k <= sample.moves.size(); ++k) {
      const std::uint32_t from = k == 0 ? 0 : sample.moves[k - 1].round;
      const std::uint32_t to = k == sample.moves.size() ? sample.rounds : sample.moves[k].round;
      const std::vector<Items>& shares = k == 0 ? sample.first_shares : sample.moves[k - 1].shares;
      done += static_cast<double>(shares[i]) * (to - from);
    }
    const double now = static_cast<double>(share.items[i]) * sample.rounds;
    if (done > 0) share.busy[i] = from_seconds(seconds(share.busy[i]) * now / done);
  }
  return share;
}

}  // namespace mgpu
