// What the estimates of a device say about time. Closed forms for strategies that weigh devices;
// what a source of slices makes of them is in lib/plan/simulator.hpp, and what a run shows in
// lib/plan/observed_rates.hpp.
#pragma once

#include <span>
#include <vector>

#include "lib/plan/slice_source.hpp"

namespace mgpu {

// Items per second once slices overlap: the slowest of upload, compute and download decides
// (resident: compute alone), on the device's own link. 0 when its compute rate is not known; an
// unknown link counts as free.
double pipelined_rate(const PlanRequest& request, const DeviceEstimate& device);

// How fast the devices are beside each other, whatever is known of them.
struct Speeds {
  std::vector<double> rates;  // per device, >= 0; items/s when `timed`, else relative only
  bool timed = false;         // at least one rate is known
};
// Pipelined rates. A device whose rate is not known is put beside the others by its static score,
// at what a point of score is worth on the devices whose rate is known; without a score either it
// counts as the slowest of them. With no rate at all: scores, one without as the least of them;
// with no scores either, all alike. Devices that a plan gives no work to (lib/plan/ledger.hpp,
// taking_part) have rate 0.
Speeds estimated_speeds(const PlanRequest& request);

// What one more slice costs the queue that decides the device's rate; 0 when not known.
Nanos slice_overhead(const PlanRequest& request, const DeviceEstimate& device);

// The largest slice that takes the device no longer than a smaller one: it leaves part of it idle.
// 0 or less: none is known.
double items_that_fill(const DeviceEstimate& device);

// Of pieces of `items` items in all, how many at most (1 to `most`) are large enough to keep the
// device busy: smaller ones take no less time. `most` when that is not known.
double pieces_that_fill(const DeviceEstimate& device, double items, double most);

// What launches may cost a run, as a part of its time: 2 % on devices all alike, where pieces gain
// nothing, and `per_difference` for each time that the fastest is faster than the slowest, up to
// `most`: there the last piece costs more than launches do. Rates of 0 are left out. The defaults
// are for pieces that shrink or may be moved.
double launch_share(std::span<const double> rates, double per_difference = 0.025,
                    double most = 0.04);

// Of those above 0; 0 when there is none. A launch costs the run rate / average of what it costs
// the device.
double average_rate(std::span<const double> rates);

// How many pieces the work of a device should come in, at most `most`: as many as cost no more than
// `share` of `time` (seconds, the whole run) in overhead beyond that of one, which there always is.
// `most` when the overhead is not known.
double pieces_worth(double overhead, double time, double share, double most);

// Items a device's memory holds: `fits`, or what its free memory holds of inputs and outputs when
// that is less; whole granules.
Items memory_holds(const PlanRequest& request, const DeviceEstimate& device);

}  // namespace mgpu
