// When a set of devices would be done: the execution model of lib/plan/simulator.hpp in closed
// form, for a strategy that chooses shares, sizes of pieces and how many devices take part.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "lib/plan/slice_source.hpp"

namespace mgpu {

struct CompletionPlan {
  std::vector<double> items;   // per device, real numbers
  std::vector<double> pieces;  // in which each comes, whole numbers; 0 for a device without items
  double seconds = 0;          // until the merge is done
};

// The plan of least completion time over the devices that take part, at these rates (items/s, all
// known). What it weighs:
// - A device with k items a slice takes S(k) = U + C + D for the first of s and P(k) = max(U, C, D,
// S/2) for each further one, as
//   it has three queues in order, and no more than two slices in flight. U = transfer + k in_bytes
//   / up and so on; resident: C.
// - s is what makes the end least: T = F + S(w/s) + (s - 1) P(w/s) = const + w/s (sigma - b) + s o,
// so s = sqrt(w (sigma - b) / o),
//   with sigma and b the seconds per item of S and P, and o what a slice costs P and the merge.
//   Never above `pipeline` items a slice, but for a remainder.
// - The host link is shared: first and last transfers of all devices meet, so they get a fair part
// of it; all together are no
//   faster than the link, so that a device beyond what it feeds only queues.
// - Replicated bytes are sent to every device that takes part; `fixed` follows its last slice, the
// merge the last device. Along a
//   tree the nodes that shares leave are merged; of more than 128 devices they are counted as
//   shares.
// Every number of devices is tried, best first (more than 16: a search that takes the time to have
// one best number), and the least number within 1 % of the best is taken.
CompletionPlan least_completion(const PlanRequest& request, const std::vector<double>& rates);

// Seconds until these shares would be done, one per device, in the pieces of a static source
// (lib/plan/even_pieces.hpp): the same model, and no slice shorter than `least`. A device with a
// share has a rate.
double seconds_of_shares(const PlanRequest& request, std::vector<double> rates,
                         std::span<const Items> shares);

}  // namespace mgpu
