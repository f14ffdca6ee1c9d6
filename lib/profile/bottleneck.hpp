// Finds what limits a case: the makespan if one thing were perfect, from a replay of the timeline.
// Pure.
#pragma once

#include <optional>
#include <string>

#include "lib/profile/timeline.hpp"

namespace mgpu {

struct Bottleneck {
  // The what-if that would save most, or "none" if none saves 1 % of T; "unknown" if time stamps
  // are impossible. "compute" never appears: when everything else is free, the work itself remains.
  std::string name = "none";
  // Predicted T; none: unknown.
  std::optional<Nanos> perfect_balance, free_transfers, free_launches, free_merge;
  std::optional<Nanos> free_exchange;  // predicted T; none also if devices exchange nothing
};

// Replays the timeline with one thing made free at a time. The replay keeps every command's
// duration and its dependencies: the previous command in its queue, the commands of the previous
// stage of its slice, and the slice two before it (two are in flight). The gap between the last of
// these and the recorded start is its launch cost. If nothing is made free, the replay gives the
// recorded makespan.
//   perfect_balance  all devices finish together: the items at the sum of the devices' rates
//                    (items / end of the last command before the merge); none unless two devices
//                    or more showed a rate
//   free_transfers   uploads, downloads and the gaps before them take no time
//   free_exchange    exchanges take no time, including waiting for other devices' data
//   free_launches    gaps are zero (a gap made negative by a clock error stays)
//   free_merge       no merge
Bottleneck find_bottleneck(const Timeline& timeline);

// Replays the timeline with these things made free. With nothing free it returns exactly
// timeline.makespan.
struct MadeFree {
  bool transfers = false, launches = false, merge = false, exchange = false;
};
Nanos replay(const Timeline& timeline, MadeFree free);

}  // namespace mgpu
