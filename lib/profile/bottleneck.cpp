// Replays a timeline with one thing made free. Gaps are kept relative to what each command waited
// for, so that a replay with nothing free reproduces the recorded times to the nanosecond.
#include "lib/profile/bottleneck.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>
#include <vector>

#include "lib/profile/metrics.hpp"

namespace mgpu {

namespace {

// A point in time, as recorded and as replayed.
struct Moment {
  Nanos recorded{}, replayed{};
  void wait_for(const Moment& other) {
    recorded = std::max(recorded, other.recorded);
    replayed = std::max(replayed, other.replayed);
  }
};

// Latest end so far of each stage (upload, compute, download) of one slice, of prepare, collect or
// merge, or of a whole device.
struct Stages {
  std::array<Moment, 3> end;
  void wait_below(std::size_t stage, Moment& m) const {
    for (std::size_t s = 0; s < stage; ++s) m.wait_for(end[s]);
  }
};

struct ReplayedDevice {
  std::array<Moment, 3> queue;  // end of the last command of each queue
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
  Replay(const Timeline& timeline, MadeFree free) : timeline_(timeline), free_(free) {
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
    Moment last;  // last command of all devices; the merge waits for it
    for (const Command* c : working_) last.wait_for(play(*c, Moment{}));
    const Moment merge_begin{timeline_.merge_begin,
                             last.replayed + (timeline_.merge_begin - last.recorded)};
    Moment work = merge_begin;
    for (const Command* c : merging_) work.wait_for(play(*c, merge_begin));
    const Nanos merge_end =
        free_.merge ? merge_begin.replayed : work.replayed + (timeline_.merge_end - work.recorded);
    return merge_end + (timeline_.makespan - timeline_.merge_end);
  }

 private:
  // Replays one command; `floor` is what it waits for beyond its own device. Returns its end.
  Moment play(const Command& c, const Moment& floor) {
    ReplayedDevice& device = devices_[c.device.value];
    const std::size_t stage = stage_of(c.kind);
    Moment ready = floor;
    ready.wait_for(device.queue[stage]);
    wait_for_slices(device, c.slice, stage, ready);

    const bool transfer = c.kind == CommandKind::upload || c.kind == CommandKind::download;
    Nanos gap = c.started - ready.recorded;
    Nanos length = c.ended - c.started;
    if (free_.launches) gap = std::min(gap, Nanos{});
    if (free_.transfers && transfer) gap = length = Nanos{};
    if (free_.exchange && c.kind == CommandKind::exchange) gap = length = Nanos{};
    const Moment end{c.ended, ready.replayed + gap + length};
    device.queue[stage] = end;
    device.slices[c.slice].end[stage].wait_for(end);
    device.all.end[stage].wait_for(end);
    return end;
  }

  static void wait_for_slices(const ReplayedDevice& device, std::int32_t slice, std::size_t stage,
                              Moment& ready) {
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

std::optional<Nanos> perfectly_balanced(const Timeline& timeline) {
  double items = 0, rates = 0;
  std::size_t showed = 0;
  Nanos last{};
  for (const DeviceParts& p : device_parts(timeline)) {
    last = std::max(last, p.finish);
    if (p.items == 0 || p.finish <= Nanos{}) continue;
    items += static_cast<double>(p.items);
    rates += static_cast<double>(p.items) / static_cast<double>(p.finish.count());
    ++showed;
  }
  if (showed < 2) return std::nullopt;
  return Nanos{std::llround(items / rates)} + (timeline.makespan - last);
}

// Returns the replayed time; none if it is negative, because the stamps are too uncertain.
std::optional<Nanos> replayed(const Timeline& timeline, MadeFree free) {
  const Nanos time = replay(timeline, free);
  return time < Nanos{} ? std::nullopt : std::optional(time);
}

}  // namespace

Nanos replay(const Timeline& timeline, MadeFree free) { return Replay(timeline, free).makespan(); }

Bottleneck find_bottleneck(const Timeline& timeline) {
  Bottleneck b;
  if (timeline.makespan <= Nanos{}) return b;
  const std::vector<std::string> impossible = impossible_stamps(timeline);
  if (std::any_of(impossible.begin(), impossible.end(),
                  [](const std::string& why) { return !why.empty(); })) {
    b.name = "unknown";
    return b;
  }
  b.perfect_balance = perfectly_balanced(timeline);
  b.free_transfers = replayed(timeline, {.transfers = true});
  if (std::any_of(timeline.commands.begin(), timeline.commands.end(),
                  [](const Command& c) { return c.exchange.has_value(); }))
    b.free_exchange = replayed(timeline, {.exchange = true});
  b.free_launches = replayed(timeline, {.launches = true});
  b.free_merge = replayed(timeline, {.merge = true});
  struct Candidate {
    const char* name;
    std::optional<Nanos> time;
  };
  const Candidate candidates[] = {{"perfect_balance", b.perfect_balance},
                                  {"free_transfers", b.free_transfers},
                                  {"free_exchange", b.free_exchange},
                                  {"free_launches", b.free_launches},
                                  {"free_merge", b.free_merge}};
  Nanos best{};
  for (const Candidate& c : candidates) {
    if (!c.time) continue;
    const Nanos saved = timeline.makespan - *c.time;
    if (saved * 100 < timeline.makespan || saved <= best) continue;  // under 1 % counts as nothing
    best = saved;
    b.name = c.name;
  }
  return b;
}

}  // namespace mgpu
