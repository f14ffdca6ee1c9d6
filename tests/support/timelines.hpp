// Timelines built by hand: times are plain numbers of nanoseconds, so that a test reads like the
// picture it describes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
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
  TimelineBuilder& of_round(std::uint32_t round) {  // sets it for the last command
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

// Parses a number of nanoseconds, or of us or ms: "5", "-7", "10ms".
inline std::int64_t drawn_time(const std::string& text) {
  std::size_t end = 0;
  const std::int64_t number = std::stoll(text, &end);
  const std::string unit = text.substr(end);
  if (unit == "us") return number * 1000;
  if (unit == "ms") return number * 1'000'000;
  if (!unit.empty()) throw std::invalid_argument("no time: " + text);
  return number;
}

// Adds one item of a picture (see `drawn` below): the words after the device's number.
inline void draw_item(TimelineBuilder& b, std::uint32_t device,
                      const std::vector<std::string>& words) {
  const std::string& what = words.at(0);
  const auto slice = [](const std::string& of) -> std::int32_t {
    if (of == "prep") return kPrepare;
    if (of == "collect") return kCollect;
    return of == "merge" ? kMerge : static_cast<std::int32_t>(std::stol(of));
  };
  const auto times = [&](std::size_t word) {
    const std::string& text = words.at(word);
    const std::size_t dots = text.find("..");
    if (dots == std::string::npos) throw std::invalid_argument("no times: " + text);
    return std::pair(drawn_time(text.substr(0, dots)), drawn_time(text.substr(dots + 2)));
  };
  // Parses the words after the times: bytes, and the number of an iteration.
  Bytes bytes = 0;
  std::optional<std::uint32_t> round;
  for (std::size_t word = 2; word < words.size(); ++word) {
    const std::string& text = words[word];
    if (text.front() == '@') round = static_cast<std::uint32_t>(std::stoul(text.substr(1)));
    if (text.back() == 'B') bytes = std::stoull(text);
  }
  const bool timed_second = what == "up" || what == "run" || what == "down" || what == "items";
  const auto [begin, end] = times(timed_second ? 2 : 1);
  const std::uint32_t number =
      what.find_first_of(">@") == std::string::npos
          ? 0
          : static_cast<std::uint32_t>(std::stoul(what.substr(what.find_first_of(">@") + 1)));
  if (what == "up") {
    b.upload(device, slice(words[1]), begin, end, bytes);
  } else if (what == "run") {
    b.compute(device, slice(words[1]), begin, end);
  } else if (what == "down") {
    b.download(device, slice(words[1]), begin, end, bytes);
  } else if (what.starts_with("put>") || what.starts_with("wait>")) {
    b.exchange(device, number, what.starts_with("wait"), begin, end, bytes);
  } else if (what == "fly" || what == "sync" || what == "idle" || what == "wake") {
    b.span(device,
           what == "fly"    ? HostState::in_flight
           : what == "sync" ? HostState::sync
           : what == "wake" ? HostState::waking
                            : HostState::idle,
           begin, end);
  } else if (what == "items") {
    const auto [enqueued, finished] =
        words.size() > 3 ? times(3) : std::pair<std::int64_t, std::int64_t>{};
    b.slice(device, slice(words[1]), static_cast<Items>(begin), static_cast<Items>(end), enqueued,
            finished);
  } else if (what == "merge") {
    b.merge(begin, end);
  } else if (what.starts_with("merge@")) {
    b.merge(begin, end, DeviceIndex{number});
  } else {
    throw std::invalid_argument("no item of a picture: " + what);
  }
  if (round) b.of_round(*round);
}

// Parses a timeline given as a picture in words: "0: up 0 5..25 64B, run 0 30..60, fly 0..70 1:
// put>0 10..40". A device's number and a colon precede its activities, which commas separate. They
// are: up, run and down of a slice (a number, prep, collect, merge); put>1 and wait>1, to and from
// another device; fly, sync, idle and wake of its worker; items of a slice, with the times when
// they were enqueued and finished; merge, or merge@0 on a device. "64B" are bytes, "@3" is an
// iteration.
inline Timeline drawn(std::size_t devices, const std::string& makespan, std::string_view picture) {
  TimelineBuilder b(devices, drawn_time(makespan));
  std::uint32_t device = 0;
  std::vector<std::string> item;
  const auto end_item = [&] {
    if (!item.empty()) draw_item(b, device, item);
    item.clear();
  };
  std::istringstream words{std::string(picture)};
  for (std::string word; words >> word;) {
    if (word.back() == ':') {
      end_item();
      device = static_cast<std::uint32_t>(std::stoul(word));
    } else if (word.back() == ',') {
      item.push_back(word.substr(0, word.size() - 1));
      end_item();
    } else {
      item.push_back(word);
    }
  }
  end_item();
  return b.get();
}

// Returns a pipeline as three in-order queues per device would run it, two slices in flight, with
// random lengths and launch gaps; merged on the host or on a device, or not at all. It is
// consistent: every command starts after those it depends on.
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
      q = start + pick(1, 100);  // work takes at least some time
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
