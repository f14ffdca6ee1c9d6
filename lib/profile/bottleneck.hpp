// Finds what limits a case: the makespan if one thing were perfect, from a replay of the timeline.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/profile/timeline.hpp"

namespace mgpu {

struct Bottleneck {
  // The what-if that would save most, or "none" if none saves 1 % of T; a balance saves no more
  // than an ideal split would. "unexplained" if devices lose more than any of them shows; "unknown"
  // if time stamps are impossible. "compute" never appears: when everything else is free, the work
  // itself remains.
  std::string name = "none";
  // Predicted T; none: unknown.
  std::optional<Nanos> perfect_balance, free_transfers, free_launches, free_merge;
  std::optional<Nanos> free_exchange;     // predicted T; none also if devices exchange nothing
  std::optional<Nanos> free_granularity;  // predicted T; none: granules are small enough
  std::optional<Nanos> free_contention;   // predicted T; none also unless two devices had work
  // Predicted T; none also unless two GPUs or more had work.
  std::optional<Nanos> perfect_occupancy;
  std::optional<Nanos> unexplained;  // T without the time that nothing explains; none: little
};

// Returns the predicted T of the what-if that is its name; none for the names without one.
std::optional<Nanos> time_without(const Bottleneck& bottleneck);

// Known facts of a case that its timeline lacks.
struct KnownOfCase {
  Items items = 0, granularity = 0;  // 0: not known
  // Time of each device alone for the whole problem; none: not measured.
  std::vector<std::optional<Nanos>> alone = {};
  // Factor by device: how much longer an item took a probe with the others at work than without
  // them; empty: not known.
  std::vector<double> contention = {};
  // Whether devices have cores and memory of their own, as GPUs do.
  bool separate = false;
};

// Replays the timeline with one thing made free at a time. The replay keeps every command's
// duration and its dependencies: the previous command in its queue, the commands of the previous
// stage of its slice, and the slice two before it (two are in flight). The gap between the last of
// these and the recorded start is its launch cost. If nothing is made free, the replay gives the
// recorded makespan.
//   perfect_balance   all devices finish together: the items at the sum of the devices' rates
//                     (items / end of the last command before the merge, or the rate alone of a
//                     device without items); none unless two devices or more have a rate
//   free_granularity  the same, if there are too few pieces: fewer granules than devices, or no
//                     distribution of whole granules would be 1 % faster than this one
//   free_transfers    uploads, downloads and the gaps before them take no time
//   free_exchange     exchanges take no time, including waiting for other devices' data
//   free_launches     gaps are zero (a gap made negative by a clock error stays)
//   free_merge        no merge
//   free_contention   kernels take no longer than alone: a device is taken to have been slowed down
//                     as much as both its time alone and the probes show
//   perfect_occupancy kernels take no longer per item than those of the device alone, whose larger
//                     share fills it better; only of separate devices without contention whose
//                     kernels do not exchange data themselves
//   unexplained       T less what an ideal split saves (the sum of the devices' rates alone) beyond
//                     all of the above together; only if that is at least 5 % of T and more than
//                     any of the above
Bottleneck find_bottleneck(const Timeline& timeline, const KnownOfCase& known = {});

// Replays the timeline with these things made free. With nothing free it returns exactly
// timeline.makespan.
struct MadeFree {
  bool transfers = false, launches = false, merge = false, exchange = false;
  std::vector<double> slowdown = {};  // by device: what kernel times are divided by; empty: nothing
};
Nanos replay(const Timeline& timeline, MadeFree free);

}  // namespace mgpu
