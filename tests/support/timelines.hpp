// Timelines built by hand: times are plain numbers of nanoseconds, so that a test reads like the
// picture it describes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "lib/profile/timeline.hpp"

namespace mgpu::test {

class TimelineBuilder {
 public:
  TimelineBuilder(std::size_t devices, std::int64_t makespan) {
    timeline_.devices = devices;
    timeline_.makespan = Nanos{makespan};
  }

  TimelineBuilder& command(std::uint32_t device, CommandKind kind, std::int32_t slice,
                           std::int64_t started, std::int64_t ended, Bytes bytes = 0) {
    Command c;
    c.device = {device};
    c.kind = kind;
    c.slice = slice;
    c.label = Name(kind == CommandKind::compute ? "kernel" : "");
    c.bytes = bytes;
    c.queued = c.submitted = c.started = Nanos{started};
    c.ended = Nanos{ended};
    timeline_.commands.push_back(c);
    return *this;
  }
  TimelineBuilder& upload(std::uint32_t device, std::int32_t slice, std::int64_t started,
                          std::int64_t ended, Bytes bytes = 0) {
    return command(device, CommandKind::upload, slice, started, ended, bytes);
  }
  TimelineBuilder& compute(std::uint32_t device, std::int32_t slice, std::int64_t started,
                           std::int64_t ended) {
    return command(device, CommandKind::compute, slice, started, ended);
  }
  TimelineBuilder& download(std::uint32_t device, std::int32_t slice, std::int64_t started,
                            std::int64_t ended, Bytes bytes = 0) {
    return command(device, CommandKind::download, slice, started, ended, bytes);
  }
  TimelineBuilder& exchange(std::uint32_t device, std::uint32_t peer, bool arrives,
                            std::int64_t started, std::int64_t ended, Bytes bytes = 0) {
    command(device, CommandKind::exchange, kPrepare, started, ended, bytes);
    timeline_.commands.back().label = Name(arrives ? "wait" : "put");
    timeline_.commands.back().exchange = ExchangeInfo{{peer}, PeerPath::direct, arrives};
    return *this;
  }
  TimelineBuilder& of_round(std::uint32_t round) {  // the last command
    timeline_.commands.back().round = round;
    return *this;
  }
  TimelineBuilder& span(std::uint32_t device, HostState state, std::int64_t begin,
                        std::int64_t end) {
    timeline_.spans.push_back({{device}, state, Nanos{begin}, Nanos{end}});
    return *this;
  }
  TimelineBuilder& slice(std::uint32_t device, std::int32_t number, Items begin, Items end,
                         std::int64_t enqueued = 0, std::int64_t finished = 0) {
    timeline_.slices.push_back({{device}, number, begin, end, Nanos{enqueued}, Nanos{finished}});
    return *this;
  }
  TimelineBuilder& merge(std::int64_t begin, std::int64_t end,
                         std::optional<DeviceIndex> on = std::nullopt) {
    timeline_.merge_begin = Nanos{begin};
    timeline_.merge_end = Nanos{end};
    timeline_.merged_on = on;
    return *this;
  }
  const Timeline& get() const { return timeline_; }

 private:
  Timeline timeline_;
};

// A pipeline as three in-order queues per device would run it, two slices in flight, with random
// lengths and launch gaps; merged on the host or on a device, or not at all. Consistent: every
// command starts after what it depends on.
inline Timeline random_pipeline(std::mt19937& random) {
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  const std::size_t devices = static_cast<std::size_t>(pick(1, 4));
  TimelineBuilder b(devices, 0);
  std::int64_t last = 0;
  Items next_item = 0;
  for (std::uint32_t d = 0; d < devices; ++d) {
    std::int64_t queue[3] = {0, 0, 0};
    std::vector<std::int64_t> done;
    const auto put = [&](CommandKind kind, std::int32_t slice, std::int64_t ready) {
      std::int64_t& q = queue[static_cast<int>(kind)];
      const std::int64_t start = std::max(q, ready) + pick(0, 5);
      q = start + pick(1, 100);  // work takes time
      b.command(d, kind, slice, start, q);
      return q;
    };
    std::int64_t prepared = 0;
    if (pick(0, 1)) prepared = put(CommandKind::upload, kPrepare, 0);
    const std::int64_t slices = pick(0, 8);
    for (std::int32_t s = 0; s < slices; ++s) {
      std::int64_t at = s >= 2 ? done[static_cast<std::size_t>(s) - 2] : 0;
      const std::int64_t enqueued = at;
      for (std::int64_t k = pick(0, 2); k > 0; --k) at = put(CommandKind::upload, s, at);
      at = std::max(at, prepared);
      for (std::int64_t k = pick(1, 2); k > 0; --k) at = put(CommandKind::compute, s, at);
      for (std::int64_t k = pick(0, 1); k > 0; --k) at = put(CommandKind::download, s, at);
      done.push_back(at);
      const Items size = static_cast<Items>(pick(1, 50));
      b.slice(d, s, next_item, next_item + size, enqueued, at);
      next_item += size;
    }
    if (pick(0, 1))
      put(CommandKind::download, kCollect, put(CommandKind::compute, kCollect, queue[1]));
    last = std::max({last, queue[0], queue[1], queue[2]});
  }
  std::int64_t end = last + pick(0, 10);
  const std::int64_t begin = end;
  std::optional<DeviceIndex> on;
  if (pick(0, 1)) {
    on = DeviceIndex{0};
    for (const CommandKind kind :
         {CommandKind::upload, CommandKind::compute, CommandKind::download}) {
      const std::int64_t start = end + pick(0, 5);
      end = start + pick(0, 60);
      b.command(0, kind, kMerge, start, end);
    }
  } else {
    end += pick(0, 60);
  }
  b.merge(begin, end, on);
  Timeline t = b.get();
  t.makespan = Nanos{end + pick(0, 5)};
  return t;
}

}  // namespace mgpu::test
