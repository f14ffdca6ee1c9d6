// Probes: short executions of a part of the items, before any case is sampled, that tell what a
// slice costs each device, alone or with others at work. Estimates are made of them; lib/plan
// predicts from estimates.
#pragma once

#include <span>
#include <vector>

#include "lib/exec/executor.hpp"

namespace mgpu {

// Time of a queue for a slice of k items (copies: bytes): fixed + k * per_item_s.
struct StageCost {
  Nanos fixed{};
  double per_item_s = 0;  // 0: the queue has nothing to do
};

// The kernels of a slice where most of a device is idle: they take as long for more items, until a
// full device's rate catches up.
struct SmallSlices {
  Items small = 0, large = 0;  // two sizes, alike where there is but one
  Nanos at_small{}, at_large{};
  Nanos flat{};  // of the large one's: kernels that are no longer than the small one's, and gaps
                 // between kernels
  double grows_per_item_s = 0;  // the others
  Nanos contention{};  // what a small slice takes longer while others are copied: 5 us a kernel on
                       // an H200
};

struct ProbedDevice {
  // Copies per byte: of an item they are not the same everywhere, as slices of some problems share
  // inputs (tiles of a product).
  StageCost upload, compute, download;
  SmallSlices kernels = {};
  Nanos next_slice{};    // marginal cost of a slice in a sample of the same items, all devices at
                         // work, host time included; 0: not known
  Nanos per_doubling{};  // what collecting takes longer for twice the items: a level more of a tree
  double up = 0,
         down =
             0;  // bytes/s while the others copy something else; 0: copies were too short to tell
};

struct Probe {
  std::vector<ProbedDevice> devices;  // in the order of the members; empty when a device failed
  Nanos fixed{};  // of a sample, beyond the queues of its one slice: waking up, first submit,
                  // replicated inputs, collect
  Nanos enqueue_delay{};  // of that: waiting for the host to enqueue, which slices that take longer
                          // hide
  Nanos replicated{};  // of that: uploads before the first slice, on the device that took longest
  Nanos bringing{};    // of that: a download of what was collected, likewise
  Items items = 0;     // that each device was given at most
  std::vector<DeviceFault> faults;
  bool refused =
      false;  // a device had no memory for its slice: nothing is known of any, and none is lost
};

// Of superlinear work: kernels of `items` items, executed whole, took `whole`; those of a larger
// share of k items take what `beyond` says.
struct KnownLine {
  Items items = 0;
  Nanos whole{};
  StageCost beyond;
};

// Of a device, from elsewhere. 0: not known.
struct KnownCosts {
  double full_per_item_s = 0;          // of a full device
  std::optional<Nanos> believed = {};  // see fit_compute; none: fit_stage
  std::optional<KnownLine> line = {};  // see fit_line
  Items share = 0;                     // of the items, that a case gives it
  Nanos least_slice{},
      least_rest{};  // a slice's kernels, and a sample besides, take no less than that
  double up_per_byte_s = 0, down_per_byte_s = 0;  // of its own link as calibrated
};

struct ProbeSize {
  double share = 0.05;                 // of the items
  Items most = 0;                      // items
  std::vector<KnownCosts> known = {};  // per member; empty: nothing of any
  std::size_t turns = 0;               // of several with a CPU, unless they take more than a second
  std::size_t most_turns =
      0;                    // enough for whoever asks; 0: three, and as many as there is time for
  bool all_rounds = false;  // of work that goes in rounds; else some of them, from which the time
                            // of all is inferred
};

// Every member executes the same items, 0 .. k - 1 of the workload's, at once: a small slice, a
// large one, the large one as four small ones, of which each begins with another; where k is one
// granule, each has its own. Of work that goes in thousands of rounds the first 256 are done,
// unless the last one brings results, or as many as it says (Shape::probe_rounds). Interleaved, at
// least three times and until 60 ms are spent (240 for several with a CPU) unless `size` says that
// fewer are enough, medians of each. k is what `size` says, but at least one granule, and of GPUs
// no less than fills them (Shape::fills_gpu). Blocks; a device counts as hung by the limits of the
// backend.
Probe run_probe(Backend& backend, Executor& executor, Workload& workload,
                std::span<const Member> members, const ProbeSize& size);

// What a sample alone on that device computed last, which a probe leaves without a result: merges
// it, on the host, or on the device where the host cannot. Blocks; outside of what is measured.
// Throws what wait_for does.
void merge_after_probe(Backend& backend, OpenDevice& device, Workload& workload,
                       DeviceProgram& program);

// The two medians of a queue as a line. `full_per_item_s`: what an item costs on a full device, 0
// when not known. That is the slope unless the line is half as steep again: the device is then
// slower than it was. Small slices can be steeper, as they make less of a device, or flat. Noise
// can make a line fall: without such a figure all `items` are then taken to cost as much once more.
StageCost fit_stage(Items small, Nanos at_small, Items large, Nanos at_large, Items items,
                    double full_per_item_s);

// Of kernels, where a line is believed whose larger slice takes at least `believed` longer than the
// smaller: shorter ones are noise, and how evenly so few work-groups fill the cores of a CPU.
// `full_per_item_s` then, as far as the larger slice allows it. Nanos::max(): no slice is believed
// in any way, as the work is superlinear (each of 64 terms of msm takes half of what each of 2048
// does).
StageCost fit_compute(Items small, Nanos at_small, Items large, Nanos at_large, Items items,
                      double full_per_item_s, Nanos believed);

// Of kernels, for a share of the items, where the work is superlinear: `line.beyond`, or for a
// share of fewer than `line.items` the line from the probe's larger slice to those. None where a
// device is slower than it was: that slice took longer than all of `line.items`, or its two sizes
// say so, as in fit_stage.
std::optional<StageCost> fit_line(Items small, Nanos at_small, Items large, Nanos at_large,
                                  const KnownLine& line, Items share);

// What a strategy is given of a device's share.
struct Share {
  unsigned cores = 0;  // that copy as well as compute: a CPU's; 0: copies are no work of the device
  Items items = 0;     // as many as it may be given; 0: not known
  Items piece = 0;     // of its slices, at most; 0: not known
};

// Of member `index` of a probe.
DeviceEstimate estimate_of(const Probe& probe, std::size_t index, const ItemCost& cost, Mode mode,
                           const Share& share);

}  // namespace mgpu
