// Probes: short executions of a part of the items, before any case is sampled. They show the cost
// of a slice on each device, alone or with others at work. Estimates are made from them; lib/plan
// predicts from estimates.
#pragma once

#include <span>
#include <vector>

#include "lib/exec/executor.hpp"

namespace mgpu {

// Time that a queue takes for a slice of k items (copies: bytes): fixed + k * per_item_s.
struct StageCost {
  Nanos fixed{};
  double per_item_s = 0;  // 0: the queue has nothing to do
};

// Times of the kernels of a slice that leaves most of a device idle: they take no longer for more
// items, until a full device's rate catches up.
struct SmallSlices {
  Items small = 0, large = 0;  // two sizes; equal if there is only one
  Nanos at_small{}, at_large{};
  // Part of at_large in kernels that take no longer than in the small slice, and in gaps between
  // kernels.
  Nanos flat{};
  double grows_per_item_s = 0;  // slope of the other kernels
  // Time by which a small slice's kernels take longer during copies of others: 5 us per kernel on
  // an H200.
  Nanos contention{};
};

struct ProbedDevice {
  // Costs of copies are per byte. They are not the same for every item, as slices of some problems
  // share inputs (tiles of a product).
  StageCost upload, compute, download;
  SmallSlices kernels = {};
  // Marginal cost of a slice in a sample of the same items, with all devices at work, including
  // host time; 0: not known.
  Nanos next_slice{};
  // Additional time of collecting for twice the items: one more level of a tree.
  Nanos per_doubling{};
  // Bytes/s while other devices copy different data; 0: copies were too short to tell.
  double up = 0, down = 0;
  // Bytes that a slice of any size copies; 0: more items have more bytes.
  Bytes same_up = 0, same_down = 0;
};

struct Probe {
  std::vector<ProbedDevice> devices;  // in the order of the participants; empty if a device failed
  // Time of a sample beyond the queues of its one slice: waking up, first submit, replicated
  // inputs, collect.
  Nanos fixed{};
  // Part of `fixed`: waiting for the host to enqueue, which longer slices hide.
  Nanos enqueue_delay{};
  // Part of `fixed`: uploads before the first slice, on the device where they took longest.
  Nanos replicated{};
  // Part of `fixed`: download of the collected results, on the device where it took longest.
  Nanos bringing{};
  Items items = 0;  // most items that each device was given
  std::vector<DeviceFault> faults;
  // A device had no memory for its slice: nothing is known of any device, and none is lost.
  bool refused = false;
};

// Line for superlinear work. The kernels of a problem of `items` items, executed whole, took
// `whole`; `beyond` gives the time for a larger share.
struct KnownLine {
  Items items = 0;
  Nanos whole{};
  StageCost beyond;
};

// Costs of a device that are known from elsewhere. 0: not known.
struct KnownCosts {
  double full_per_item_s = 0;          // cost of an item on a full device
  std::optional<Nanos> believed = {};  // see fit_compute; none: fit_stage applies
  std::optional<KnownLine> line = {};  // see fit_line
  Items share = 0;                     // items that a case gives the device
  // Lower bounds of a slice's kernels and of the rest of a sample.
  Nanos least_slice{}, least_rest{};
};

struct ProbeSize {
  double share = 0.05;                 // fraction of the items
  Items most = 0;                      // upper bound in items
  std::vector<KnownCosts> known = {};  // by participant; empty: nothing is known
  // Number of turns of several devices with a CPU, unless they take more than a second.
  std::size_t turns = 0;
  // Number of turns that is enough; 0: at least three, and as many as there is time for.
  std::size_t most_turns = 0;
  // Executes all iterations of iterative work. Otherwise some of them, from which the time of all
  // is extrapolated.
  bool all_rounds = false;
};

// Runs a probe. All participants execute the same items, 0 .. k - 1 of the workload, at once: as a
// small slice, as a large one, and as four small ones, with which each participant begins at
// another. If k is one granule, each participant has its own. k is what `size` says, but at least
// one granule, and for GPUs at least Shape::fills_gpu or an equal share. The executions are
// interleaved, at least three times and until 60 ms are spent (240 ms for several devices with a
// CPU), unless `size` allows fewer; the result has the medians. Of iterative work GPUs execute
// Shape::probe_rounds iterations, if it has them; otherwise all are executed if the last one brings
// results, else at most the first 256. Blocks; a device counts as hung by the limits of the
// backend.
Probe run_probe(Backend& backend, Executor& executor, Workload& workload,
                std::span<const Participant> participants, const ProbeSize& size);

// Merges the last result of a sample on that device alone, as a probe does not merge: on the host,
// or on the device if the host cannot. Blocks; not for measured phases. Throws what wait_for
// throws.
void merge_after_probe(Backend& backend, OpenDevice& device, Workload& workload,
                       DeviceProgram& program);

// Fits a line to the two medians of a queue. `full_per_item_s` is the cost of an item on a full
// device, 0 if not known. It is the slope, unless the measured line is at least 1.5 times as steep:
// the device is then slower than it was. Small slices can be steeper, as they use less of a device,
// or flat. Noise can make a line fall: without `full_per_item_s`, the time of the large slice is
// then spread over all `items`.
StageCost fit_stage(Items small, Nanos at_small, Items large, Nanos at_large, Items items,
                    double full_per_item_s);

// Fits a line to the times of kernels. The measured line is used if the larger slice takes at least
// `believed` longer than the smaller one: shorter differences are noise, and depend on how evenly
// few work-groups fill the cores of a CPU. Otherwise `full_per_item_s` is the slope, as far as the
// time of the larger slice allows it. Nanos::max(): no slice is believed, as the work is
// superlinear (each of 64 terms of msm takes half of what each of 2048 does).
StageCost fit_compute(Items small, Nanos at_small, Items large, Nanos at_large, Items items,
                      double full_per_item_s, Nanos believed);

// Fits a line to the times of kernels of superlinear work, for a share of the items: `line.beyond`,
// or for a share smaller than `line.items` the line from the probe's larger slice to those. None if
// the device is slower than it was: the larger slice took longer than all of `line.items`, or the
// two sizes show it, as in fit_stage.
std::optional<StageCost> fit_line(Items small, Nanos at_small, Items large, Nanos at_large,
                                  const KnownLine& line, Items share);

// Properties of a device's share.
struct Share {
  // Number of CPU cores that both copy and compute; 0: copies take no time of the device's cores.
  unsigned cores = 0;
  Items items = 0;  // most items that it may be given; 0: not known
  Items piece = 0;  // most items of a slice; 0: not known
};

// Returns the estimate of participant `index` of a probe.
DeviceEstimate estimate_of(const Probe& probe, std::size_t index, const ItemCost& cost, Mode mode,
                           const Share& share);

}  // namespace mgpu
