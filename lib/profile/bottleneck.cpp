// Replays a timeline with one thing made free. Gaps are kept relative to what each command waited
// for, so that a replay with nothing free reproduces the recorded times to the nanosecond.
// Granularity, contention and occupancy need what is known of the devices besides the timeline.
#include "lib/profile/bottleneck.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/profile/metrics.hpp"
#include "lib/profile/replay_moment.hpp"

namespace mgpu {

namespace {

// Least share of T that two medians, of the case and of the devices alone, show to be missing.
constexpr double kLeastUnexplained = 0.05;

struct WhatIf {
  const char* name;
  std::optional<Nanos> Bottleneck::*time;
};
constexpr WhatIf kWhatIfs[] = {{"perfect_balance", &Bottleneck::perfect_balance},
                               {"free_granularity", &Bottleneck::free_granularity},
                               {"free_transfers", &Bottleneck::free_transfers},
                               {"free_exchange", &Bottleneck::free_exchange},
                               {"free_launches", &Bottleneck::free_launches},
                               {"free_merge", &Bottleneck::free_merge},
                               {"free_contention", &Bottleneck::free_contention},
                               {"perfect_occupancy", &Bottleneck::perfect_occupancy}};
constexpr WhatIf kUnexplained{"unexplained", &Bottleneck::unexplained};

// Returns whether it is at least 1 % of T: less counts as nothing.
bool is_worth_naming(Nanos saved, const Timeline& timeline) {
  return saved * 100 >= timeline.makespan;
}

// Latest end so far of each stage (upload, compute, download) of one slice, of prepare, collect or
// merge, or of a whole device.
struct Stages {
  std::array<ReplayMoment, 3> end;
  void wait_below(std::size_t stage, ReplayMoment& m) const {
    for (std::size_t s = 0; s < stage; ++s) m.wait_for(end[s]);
  }
};

struct ReplayedDevice {
  std::array<ReplayMoment, 3> queue;  // end of the last command of each queue
  // Stages by slice number or kPrepare, kCollect, kMerge.
  std::unordered_map<std::int32_t, Stages> slices;
  Stages all;
};

// Maps exchanges to the stage of kernels, with which they run in order.
std::size_t stage_of(CommandKind kind) {
  return static_cast<std::size_t>(kind == CommandKind::exchange ? CommandKind::compute : kind);
}

class Replay {
 public:
  Replay(const Timeline& timeline, MadeFree free) : timeline_(timeline), free_(std::move(free)) {
    for (const Command& c : timeline.commands)
      (c.slice == kMerge ? merging_ : working_).push_back(&c);
    const auto earlier = [](const Command* a, const Command* b) {
      if (a->started != b->started) return a->started < b->started;
      return stage_of(a->kind) != stage_of(b->kind) ? stage_of(a->kind) < stage_of(b->kind)
                                                    : a->ended < b->ended;
    };
    std::stable_sort(working_.begin(), working_.end(), earlier);
    std::stable_sort(merging_.begin(), merging_.end(), earlier);
  }

  Nanos makespan() {
    ReplayMoment last;  // last command of all devices; the merge waits for it
    for (const Command* c : working_) last.wait_for(play(*c, ReplayMoment{}));
    const ReplayMoment merge_begin{timeline_.merge_begin,
                                   last.replayed + (timeline_.merge_begin - last.recorded)};
    ReplayMoment work = merge_begin;
    for (const Command* c : merging_) work.wait_for(play(*c, merge_begin));
    const Nanos merge_end =
        free_.merge ? merge_begin.replayed : work.replayed + (timeline_.merge_end - work.recorded);
    return merge_end + (timeline_.makespan - timeline_.merge_end);
  }

 private:
  // Replays one command; `floor` is what it waits for beyond its own device. Returns its end.
  ReplayMoment play(const Command& c, const ReplayMoment& floor) {
    ReplayedDevice& device = devices_[c.device.value];
    const std::size_t stage = stage_of(c.kind);
    ReplayMoment ready = floor;
    ready.wait_for(device.queue[stage]);
    wait_for_slices(device, c.slice, stage, ready);

    const bool transfer = c.kind == CommandKind::upload || c.kind == CommandKind::download;
    Nanos gap = c.started - ready.recorded;
    Nanos length = c.ended - c.started;
    if (free_.launches) gap = std::min(gap, Nanos{});
    if (free_.transfers && transfer) gap = length = Nanos{};
    if (free_.exchange && c.kind == CommandKind::exchange) gap = length = Nanos{};
    if (c.kind == CommandKind::compute && !free_.slowdown.empty())
      length = from_seconds(seconds(length) / free_.slowdown[c.device.value]);
    const ReplayMoment end{c.ended, ready.replayed + gap + length};
    device.queue[stage] = end;
    device.slices[c.slice].end[stage].wait_for(end);
    device.all.end[stage].wait_for(end);
    return end;
  }

  static void wait_for_slices(const ReplayedDevice& device, std::int32_t slice, std::size_t stage,
                              ReplayMoment& ready) {
    const auto wait_for = [&](std::int32_t number, std::size_t below) {
      if (const auto found = device.slices.find(number); found != device.slices.end())
        found->second.wait_below(below, ready);
    };
    wait_for(slice, stage);
    if (slice >= 0) {
      wait_for(kPrepare, stage);
      if (slice >= 2) wait_for(slice - 2, 3);
    } else if (slice == kCollect) {
      device.all.wait_below(stage, ready);
    }
  }

  const Timeline& timeline_;
  MadeFree free_;
  std::vector<const Command*> working_, merging_;  // before the merge and of it, in order of start
  std::unordered_map<std::uint32_t, ReplayedDevice> devices_;
};

// A device's rate, in items/ns, and when it finished; 0: nothing, as it had no items.
struct Shown {
  double rate = 0, finish = 0;
};

// Returns the rate at which each device finished its items, or, if it had none, that of the device
// alone; 0: not known.
std::vector<Shown> shown_rates(std::span<const DeviceParts> parts, const KnownOfCase& known) {
  std::vector<Shown> all(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto finish = static_cast<double>(parts[i].finish.count());
    if (parts[i].items > 0 && finish > 0) {
      all[i] = {static_cast<double>(parts[i].items) / finish, finish};
    } else if (parts[i].items == 0 && i < known.alone.size() && known.alone[i]) {
      all[i].rate = static_cast<double>(known.items) / static_cast<double>(known.alone[i]->count());
    }
  }
  return all;
}

// Returns the least time, in ns, in which devices of these rates finish so many items, if each
// takes whole granules.
double best_of_granules(std::span<const Shown> devices, Items items, Items granularity) {
  const auto granules = static_cast<double>((items + granularity - 1) / granularity);
  double fastest = 0, low = 0;
  for (const Shown& device : devices) fastest = std::max(fastest, device.rate);
  double high = granules * static_cast<double>(granularity) / fastest;  // all on the fastest device
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    double done = 0;
    for (const Shown& device : devices)
      done += std::floor(middle * device.rate / static_cast<double>(granularity));
    (done >= granules ? high : low) = middle;
  }
  return std::min(high, static_cast<double>(items) / fastest);  // the last granule may be smaller
}

// Sets what perfect balance would give, and whether only the granularity prevents it.
void find_balance(Bottleneck& b, const Timeline& timeline, std::span<const DeviceParts> parts,
                  const KnownOfCase& known) {
  const std::vector<Shown> devices = shown_rates(parts, known);
  double items = 0, rates = 0, last = 0;
  for (const DeviceParts& p : parts) items += static_cast<double>(p.items);
  for (const Shown& device : devices) {
    rates += device.rate;
    last = std::max(last, device.finish);
  }
  if (items <= 0 || last <= 0 ||
      std::count_if(devices.begin(), devices.end(), [](const Shown& d) { return d.rate > 0; }) < 2)
    return;
  const Nanos rest = timeline.makespan - Nanos{std::llround(last)};
  b.perfect_balance = Nanos{std::llround(items / rates)} + rest;
  if (known.granularity == 0 || !is_worth_naming(timeline.makespan - *b.perfect_balance, timeline))
    return;
  const double best = best_of_granules(devices, static_cast<Items>(items), known.granularity);
  const bool one_each = items > static_cast<double>(known.granularity * (devices.size() - 1));
  if (!one_each || !is_worth_naming(Nanos{std::llround(last - best)}, timeline))
    b.free_granularity = b.perfect_balance;
}

// Returns by device how many times as long its kernels took per item as those of the device alone:
// as much as both the sample and `most` show. Empty: not known, or fewer than two devices had work.
std::vector<double> slowdown(std::span<const DeviceParts> parts, const KnownOfCase& known,
                             std::span<const double> most) {
  if (known.contention.size() != parts.size() || known.alone.size() != parts.size() ||
      known.items == 0)
    return {};
  std::vector<double> all(parts.size(), 1);
  std::size_t at_work = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].items == 0 || !known.alone[i] || *known.alone[i] <= Nanos{}) continue;
    ++at_work;
    const double share = static_cast<double>(parts[i].items) / static_cast<double>(known.items);
    const double seen = seconds(parts[i].compute) / (seconds(*known.alone[i]) * share);
    all[i] = std::max(1.0, std::min(seen, most[i]));
  }
  return at_work < 2 ? std::vector<double>() : all;
}

// Returns by device how many times as long its kernels took per item because its share fills it
// less than the whole problem. Empty: not known, or other devices may be why.
std::vector<double> underfill(const Timeline& timeline, std::span<const DeviceParts> parts,
                              const KnownOfCase& known) {
  constexpr double most_contention = 1.05;  // two rates of the same kernels differ by as much
  bool exchange = false, puts = false;
  for (const Command& c : timeline.commands) {
    exchange |= c.exchange.has_value();
    puts |= c.exchange.has_value() && c.bytes > 0;
  }
  const bool kernels_wait = exchange && !puts;
  if (!known.separate || kernels_wait ||
      std::any_of(known.contention.begin(), known.contention.end(),
                  [&](double c) { return c > most_contention; }))
    return {};
  return slowdown(parts, known,
                  std::vector<double>(parts.size(), std::numeric_limits<double>::infinity()));
}

// Returns the time of a split that wastes nothing; none unless every device was measured alone.
std::optional<Nanos> ideal_time(const KnownOfCase& known) {
  double rates = 0;  // in problems per second
  for (const std::optional<Nanos>& alone : known.alone) {
    if (!alone || *alone <= Nanos{}) return std::nullopt;
    rates += 1 / seconds(*alone);
  }
  return known.alone.size() < 2 ? std::nullopt : std::optional(from_seconds(1 / rates));
}

// Returns the replayed time; none if it is negative, because the stamps are too uncertain.
std::optional<Nanos> replayed(const Timeline& timeline, MadeFree free) {
  const Nanos time = replay(timeline, std::move(free));
  return time < Nanos{} ? std::nullopt : std::optional(time);
}

// Names the cost that saves most, or the part of the lost time that no cost explains. A balance
// saves no more than an ideal split would.
void name_largest(Bottleneck& b, const Timeline& timeline, const KnownOfCase& known) {
  const std::optional<Nanos> ideal = ideal_time(known);
  Nanos best{}, explained{};
  for (const WhatIf& what_if : kWhatIfs) {
    const std::optional<Nanos> time = b.*what_if.time;
    const bool replaced = what_if.time == &Bottleneck::perfect_balance && b.free_granularity;
    if (!time || replaced) continue;
    const bool balances = what_if.time == &Bottleneck::perfect_balance ||
                          what_if.time == &Bottleneck::free_granularity;
    const Nanos saved = timeline.makespan - (balances && ideal ? std::max(*time, *ideal) : *time);
    explained += std::max(Nanos{}, saved);
    if (!is_worth_naming(saved, timeline) || saved <= best) continue;
    best = saved;
    b.name = what_if.name;
  }
  if (!ideal) return;
  const Nanos rest = timeline.makespan - *ideal - explained;
  if (rest <= best || seconds(rest) < kLeastUnexplained * seconds(timeline.makespan)) return;
  b.name = kUnexplained.name;
  b.unexplained = timeline.makespan - rest;
}

}  // namespace

Nanos replay(const Timeline& timeline, MadeFree free) {
  return Replay(timeline, std::move(free)).makespan();
}

std::optional<Nanos> time_without(const Bottleneck& bottleneck) {
  if (bottleneck.name == kUnexplained.name) return bottleneck.*kUnexplained.time;
  for (const WhatIf& what_if : kWhatIfs)
    if (bottleneck.name == what_if.name) return bottleneck.*what_if.time;
  return std::nullopt;
}

Bottleneck find_bottleneck(const Timeline& timeline, const KnownOfCase& known) {
  Bottleneck b;
  if (timeline.makespan <= Nanos{}) return b;
  const std::vector<std::string> impossible = impossible_stamps(timeline);
  if (std::any_of(impossible.begin(), impossible.end(),
                  [](const std::string& why) { return !why.empty(); })) {
    b.name = "unknown";
    return b;
  }
  const std::vector<DeviceParts> parts = device_parts(timeline);
  find_balance(b, timeline, parts, known);
  b.free_transfers = replayed(timeline, {.transfers = true});
  if (std::any_of(timeline.commands.begin(), timeline.commands.end(),
                  [](const Command& c) { return c.exchange.has_value(); }))
    b.free_exchange = replayed(timeline, {.exchange = true});
  b.free_launches = replayed(timeline, {.launches = true});
  b.free_merge = replayed(timeline, {.merge = true});
  if (std::vector<double> slower = slowdown(parts, known, known.contention); !slower.empty())
    b.free_contention = replayed(timeline, {.slowdown = std::move(slower)});
  if (std::vector<double> slower = underfill(timeline, parts, known); !slower.empty())
    b.perfect_occupancy = replayed(timeline, {.slowdown = std::move(slower)});
  name_largest(b, timeline, known);
  return b;
}

}  // namespace mgpu
