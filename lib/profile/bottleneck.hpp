// What holds a case back: the makespan if one thing were perfect, by replaying the timeline. Pure.
#pragma once

#include <optional>
#include <string>

#include "lib/profile/timeline.hpp"

namespace mgpu {

struct Bottleneck {
  std::string name = "none";  // the what-if that would save most, or "none" when none saves 1 % of
                              // T; "compute" never appears: what remains when all are free is the
                              // work itself. "unknown" where time stamps are impossible
  std::optional<Nanos> perfect_balance, free_transfers, free_launches,
      free_merge;                      // predicted T; none: not known
  std::optional<Nanos> free_exchange;  // likewise; none also where devices exchange nothing
};

// The replay keeps every command's duration and its dependencies: the command before it in its
// queue, the commands of the stage before it in its slice, and the slice two before it (two are in
// flight). The gap between the last of these and the recorded start is its launch cost. With
// nothing made free the replay gives the recorded makespan.
//   perfect_balance  all devices finish together: items at the sum of the rates each device showed
//   (items / end of its last
//                    command before the merge); none unless two devices or more showed a rate
//   free_transfers   uploads and downloads take no time, nor do their gaps
//   free_exchange    nothing between devices takes time, waiting for each other's data included
//   free_launches    gaps are zero (one that a clock error made negative stays)
//   free_merge       no merge
Bottleneck find_bottleneck(const Timeline& timeline);

// The replay itself: the makespan with these things made free. Nothing free: exactly
// timeline.makespan.
struct MadeFree {
  bool transfers = false, launches = false, merge = false, exchange = false;
};
Nanos replay(const Timeline& timeline, MadeFree free);

}  // namespace mgpu
