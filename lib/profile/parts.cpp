// Divides one device's time into the parts of T, each measured on its own from commands and host
// spans. metrics.cpp computes metrics from them.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/profile/intervals.hpp"
#include "lib/profile/metrics.hpp"

namespace mgpu {

namespace {

struct DeviceEvents {
  std::vector<Interval> upload, compute, download, exchange;
  std::vector<Interval> waiting;  // exchanges that wait or receive
};

std::vector<Interval>& of_kind(DeviceEvents& events, CommandKind kind) {
  switch (kind) {
    case CommandKind::upload:
      return events.upload;
    case CommandKind::compute:
      return events.compute;
    case CommandKind::download:
      return events.download;
    case CommandKind::exchange:
      break;
  }
  return events.exchange;
}

void check_device(const Timeline& timeline, DeviceIndex device) {
  if (device.value >= timeline.devices)
    throw Error(ErrorKind::internal, "timeline names device " + std::to_string(device.value) +
                                         " of " + std::to_string(timeline.devices));
}

// Clips an interval to T. The clock map's uncertainty accounts for what a clock error moved outside
// the sample.
Interval inside(const Timeline& timeline, Nanos begin, Nanos end) {
  const Nanos whole = std::max(timeline.makespan, Nanos{});
  return {std::clamp(begin, Nanos{}, whole), std::clamp(end, Nanos{}, whole)};
}

DeviceParts without_times(const DeviceParts& all, const std::string& why) {
  DeviceParts parts;
  parts.unknown = why;
  parts.items = all.items;
  parts.slices = all.slices;
  parts.bytes_in = all.bytes_in;
  parts.bytes_out = all.bytes_out;
  parts.in_place = all.in_place;
  parts.exchanges = all.exchanges;
  parts.bytes_sent = all.bytes_sent;
  parts.bytes_received = all.bytes_received;
  return parts;
}

// Fills in what commands say, and returns the union of all commands of the device.
TimeSet add_commands(DeviceEvents events, DeviceParts& parts) {
  std::vector<Interval> transfers = events.upload;
  transfers.insert(transfers.end(), events.download.begin(), events.download.end());
  std::vector<Interval> all = transfers;
  all.insert(all.end(), events.compute.begin(), events.compute.end());
  const TimeSet but_exchange(all);
  std::vector<Interval> or_waiting;
  if (!events.waiting.empty()) {
    or_waiting = all;
    or_waiting.insert(or_waiting.end(), events.waiting.begin(), events.waiting.end());
  }
  all.insert(all.end(), events.exchange.begin(), events.exchange.end());
  std::vector<Interval> before_download = events.upload;
  before_download.insert(before_download.end(), events.compute.begin(), events.compute.end());

  const TimeSet upload(std::move(events.upload)), compute(std::move(events.compute)),
      download(std::move(events.download));
  const TimeSet transfer(std::move(transfers)), upload_or_compute(std::move(before_download));
  TimeSet busy(std::move(all));
  parts.compute = compute.length();
  parts.upload = upload.length() - upload.common(compute);
  parts.download = download.length() - download.common(upload_or_compute);
  parts.exchange = busy.length() - but_exchange.length();
  parts.busy = busy.length();
  parts.transfer_total = transfer.length();
  parts.transfer_hidden = transfer.common(compute);
  if (!events.exchange.empty()) {
    const TimeSet exchange(std::move(events.exchange));
    parts.exchange_times = {exchange.common(compute), exchange.length(),
                            or_waiting.empty()
                                ? Nanos{}
                                : TimeSet(std::move(or_waiting)).length() - but_exchange.length()};
  }
  return busy;
}

}  // namespace

std::vector<Nanos> slice_totals(const Timeline& timeline) {
  std::map<std::pair<std::uint32_t, std::int32_t>, Interval> slices;  // by device and number
  for (const Command& c : timeline.commands) {
    if (c.slice < 0) continue;
    const Interval interval = inside(timeline, c.started, c.ended);
    Interval& whole = slices.try_emplace({c.device.value, c.slice}, interval).first->second;
    whole = {std::min(whole.begin, interval.begin), std::max(whole.end, interval.end)};
  }
  std::vector<Nanos> totals(timeline.devices);
  for (const auto& [slice, whole] : slices) totals[slice.first] += whole.end - whole.begin;
  return totals;
}

std::vector<DeviceParts> device_parts(const Timeline& timeline) {
  std::vector<DeviceParts> parts(timeline.devices);
  std::vector<DeviceEvents> events(timeline.devices);
  for (const Command& c : timeline.commands) {
    check_device(timeline, c.device);
    DeviceEvents& e = events[c.device.value];
    DeviceParts& p = parts[c.device.value];
    const Interval interval = inside(timeline, c.started, c.ended);
    of_kind(e, c.kind).push_back(interval);
    if (c.slice != kMerge) p.finish = std::max(p.finish, interval.end);
    if (c.kind == CommandKind::upload) p.bytes_in += c.bytes;
    p.in_place |= c.label == kInPlace;
    if (c.kind == CommandKind::download) p.bytes_out += c.bytes;
    if (!c.exchange) continue;
    p.exchanges = true;
    check_device(timeline, c.exchange->peer);
    if (c.exchange->arrives) {  // its bytes are counted at the sender
      e.waiting.push_back(interval);
      continue;
    }
    p.bytes_sent += c.bytes;
    parts[c.exchange->peer.value].bytes_received += c.bytes;
  }
  for (const SliceRecord& s : timeline.slices) {
    check_device(timeline, s.device);
    parts[s.device.value].items += s.end - s.begin;
    ++parts[s.device.value].slices;
  }
  std::vector<TimeSet> busy(timeline.devices);
  for (std::size_t i = 0; i < timeline.devices; ++i)
    busy[i] = add_commands(std::move(events[i]), parts[i]);
  // Sums spans one by one, without a union: if two overlap, the unaccounted time goes negative and
  // shows it.
  for (const HostSpan& span : timeline.spans) {
    check_device(timeline, span.device);
    DeviceParts& p = parts[span.device.value];
    const Interval window = inside(timeline, span.begin, span.end);
    const Nanos rest =
        std::max(Nanos{}, window.end - window.begin) - busy[span.device.value].covered(window);
    (span.state == HostState::in_flight ? p.launch
     : span.state == HostState::sync    ? p.sync
     : span.state == HostState::waking  ? p.wake
                                        : p.idle) += rest;
  }
  for (DeviceParts& p : parts)
    p.residue = timeline.makespan - (p.upload + p.compute + p.download + p.exchange + p.launch +
                                     p.sync + p.idle + p.wake);
  const std::vector<std::string> impossible = impossible_stamps(timeline);
  for (std::size_t i = 0; i < timeline.devices; ++i)
    if (!impossible[i].empty()) parts[i] = without_times(parts[i], impossible[i]);
  return parts;
}

}  // namespace mgpu
