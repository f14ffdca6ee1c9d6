// Predicts when a set of devices would be done: the execution model of lib/plan/simulator.hpp in
// closed form, for a strategy that chooses shares, sizes of pieces and the number of devices.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "lib/plan/slice_source.hpp"

namespace mgpu {

struct CompletionPlan {
  std::vector<double> items;  // per device, real numbers
  // Number of pieces per device, whole numbers; 0 for a device without items.
  std::vector<double> pieces;
  double seconds = 0;  // until the end of the merge
};

// Returns the plan of least completion time over the devices that take part, at these rates
// (items/s, all known). Its model:
// - A device with k items per slice takes S(k) = U + C + D for the first of s slices and P(k) =
//   max(U, C, D, S/2) for each further one, as it has three queues in order, and at most two slices
//   in flight. U = transfer + k in_bytes / up and so on; resident: C.
// - s minimises the end: T = F + S(w/s) + (s - 1) P(w/s) = const + w/s (sigma - b) + s o, so s =
//   sqrt(w (sigma - b) / o), with sigma and b the seconds per item of S and P, and o what a slice
//   costs P and the merge. A slice has at most `pipeline` items, plus a remainder.
// - The host link is shared: first and last transfers of all devices coincide, so each gets a fair
//   part of it. All devices together are no faster than the link, so that a device beyond its limit
//   only queues.
// - Replicated bytes are sent to every device that takes part; `fixed` follows a device's last
//   slice, the merge the last device. Along a tree the nodes that shares leave are merged; for more
//   than 128 devices they are counted as shares.
// Every number of devices is tried, best devices first (for more than 16, by a search that assumes
// a single minimum), and the least number within 1 % of the best is taken.
CompletionPlan least_completion(const PlanRequest& request, const std::vector<double>& rates);

// Returns the seconds until these shares, one per device, would be done, in the pieces of a static
// source (lib/plan/even_pieces.hpp): the same model, and no slice shorter than `least`. A device
// with a share has a rate.
double seconds_of_shares(const PlanRequest& request, std::vector<double> rates,
                         std::span<const Items> shares);

}  // namespace mgpu
