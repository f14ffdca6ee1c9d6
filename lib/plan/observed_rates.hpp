// ObservedRates: speeds of devices as observed in a run, and when each will have finished its
// slices in flight. Sources that decide during a run use it to see which devices are early and
// late. It has no clock: the time a device has worked is the sum of what its slices added (`busy`
// of SliceSource::finished), and now is the latest of those sums.
#pragma once

#include <algorithm>
#include <vector>

#include "lib/plan/cost_model.hpp"
#include "lib/plan/ledger.hpp"
#include "lib/plan/slice_source.hpp"
#include "lib/plan/water_fill.hpp"

namespace mgpu {

class ObservedRates {
 public:
  explicit ObservedRates(const PlanRequest& request);

  // issuing() must be called before the ledger puts a slice into flight, the others with the events
  // of SliceSource.
  void issuing(const Ledger& ledger, DeviceIndex device);
  void finished(DeviceIndex device, const Slice& slice, Nanos busy);
  void joined(DeviceIndex device);

  // Returns items/s, or a relative speed while `timed` is false. It uses the last three slices, so
  // that a change of a device is known after two, and a single unusually long slice (the first one,
  // for example) does not outweigh a measured estimate. A device without a finished slice is
  // assumed to be as far off its estimate as the others are.
  double rate(DeviceIndex device) const;  // above 0
  // Returns a rate that no device exceeds.
  double at_most() const { return std::max(fastest_, best_estimate_ * most_above_); }
  bool timed() const { return timed_; }
  // Returns whether the device has finished a slice.
  bool has_shown(DeviceIndex device) const { return devices_[device.value].seen > 0; }
  // Returns the seconds that one more slice costs; 0: not known.
  double overhead(DeviceIndex device) const { return devices_[device.value].overhead; }
  double now() const { return now_; }
  double end(const Ledger& ledger, DeviceIndex device) const;  // end of its slices in flight
  // Returns when all devices would end together, if `items` were distributed among them now, and
  // each paid for one more slice. Amounts are items, 0 for a device that is not able or would start
  // too late.
  WaterLevel common_end(const Ledger& ledger, double items) const;

 private:
  struct DeviceRate {
    double estimate = 1;  // only relative to the other devices if nothing is timed
    double overhead = 0;
    double clock = 0;  // end of its last slice
    double recent[3] = {0, 0, 0};
    unsigned seen = 0;  // number of finished slices
  };
  double shown(const DeviceRate& own) const;

  std::vector<DeviceRate> devices_;
  // Whether rates are known, and whether they were from the beginning.
  bool timed_ = false, measured_before_ = false;
  double now_ = 0;
  // Fastest of all slices; best of all devices; largest ratio of a slice's rate to its device's
  // estimate.
  double fastest_ = 0, best_estimate_ = 0, most_above_ = 1;
  double shown_sum_ = 0, estimate_sum_ = 0;  // over the devices with a finished slice
};

}  // namespace mgpu
