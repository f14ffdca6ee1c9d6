// Closed forms that turn the estimates of a device into times, for strategies that weigh devices.
// The simulation of a source is in lib/plan/simulator.hpp, rates observed in a run are in
// lib/plan/observed_rates.hpp.
#pragma once

#include <span>
#include <vector>

#include "lib/plan/slice_source.hpp"

namespace mgpu {

// Returns the items per second once slices overlap: the slowest of upload, compute and download
// decides (resident: compute alone), on the device's own link. 0 if its compute rate is not known;
// an unknown link counts as free.
double pipelined_rate(const PlanRequest& request, const DeviceEstimate& device);

// Speeds of the devices relative to each other, from whatever is known of them.
struct Speeds {
  std::vector<double> rates;  // per device, >= 0; items/s if `timed`, else only relative
  bool timed = false;         // at least one rate is known
};
// Returns the pipelined rates. A device whose rate is not known gets one from its static score, at
// the rate per point of score of the devices whose rate is known; without a score it counts as the
// slowest of them. If no rate is known, the rates are the scores, and a device without one has the
// least of them; without any score all are equal. Devices that a plan gives no work to
// (lib/plan/ledger.hpp, taking_part) have rate 0.
Speeds estimated_speeds(const PlanRequest& request);

// Returns the time that one more slice costs the queue that decides the device's rate; 0 if not
// known.
Nanos slice_overhead(const PlanRequest& request, const DeviceEstimate& device);

// Returns the size of the largest slice that leaves part of the device idle and so takes no longer
// than a smaller one. 0 or less: not known.
double items_that_fill(const DeviceEstimate& device);

// Returns the largest number of pieces, 1 to `most`, of `items` items in all that are large enough
// to keep the device busy: smaller pieces take the same time. `most` if that is not known.
double pieces_that_fill(const DeviceEstimate& device, double items, double most);

// Returns the fraction of a run's time that launches may cost: `per_difference` times (fastest /
// slowest rate - 1), from 2 %, which applies to equal devices, where pieces gain nothing, up to
// `most`. The more the rates differ, the more the last piece costs relative to launches. Rates of 0
// are left out. The defaults are for pieces that shrink or may be moved.
double launch_share(std::span<const double> rates, double per_difference = 0.025,
                    double most = 0.04);

// Returns the average of the rates above 0; 0 if there is none. A launch costs the run rate /
// average of what it costs the device.
double average_rate(std::span<const double> rates);

// Returns the number of pieces, at most `most`, that a device's work should have: the most whose
// overhead, beyond that of the first, is at most `share` of `time` (seconds of the whole run).
// `most` if the overhead is not known.
double pieces_worth(double overhead, double time, double share, double most);

// Returns the items that the device's memory has room for: `fits`, or the number whose inputs and
// outputs fit into its free memory if that is less; whole granules.
Items memory_holds(const PlanRequest& request, const DeviceEstimate& device);

}  // namespace mgpu
