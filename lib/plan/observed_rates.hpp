// What a run has shown of the speed of its devices, and when each will have finished what it holds.
// Sources that decide as they go ask it who is early and who is late. It has no clock: the time a
// device has worked is the sum of what its slices added
// (`busy` of SliceSource::finished), and now is the latest of those sums.
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

  // Call before the ledger puts a slice into flight, and with the events of SliceSource.
  void issuing(const Ledger& ledger, DeviceIndex device);
  void finished(DeviceIndex device, const Slice& slice, Nanos busy);
  void joined(DeviceIndex device);

  // Items/s; relative only while `timed` is false. From the last three slices, so that a device
  // that changes is known after two, and one slice that took long for reasons of its own (the first
  // one, say) is not believed against an estimate that was measured. A device that has shown
  // nothing yet is as far off its estimate as the others are off theirs.
  double rate(DeviceIndex device) const;  // > 0
  double at_most() const {
    return std::max(fastest_, best_estimate_ * most_above_);
  }  // no device has a higher rate
  bool timed() const { return timed_; }
  bool has_shown(DeviceIndex device) const {
    return devices_[device.value].seen > 0;
  }  // it has finished a slice
  double overhead(DeviceIndex device) const {
    return devices_[device.value].overhead;
  }  // seconds one more slice costs; 0: not known
  double now() const { return now_; }
  double end(const Ledger& ledger, DeviceIndex device) const;  // of what it has in flight
  // When all devices would end together, were `items` handed out among them now, each to pay for
  // one more slice. Amounts: items, 0 for a device that is not able or would start too late.
  WaterLevel common_end(const Ledger& ledger, double items) const;

 private:
  struct DeviceRate {
    double estimate = 1;  // relative to those of the other devices, when nothing is timed
    double overhead = 0;
    double clock = 0;  // when its last slice ended
    double recent[3] = {0, 0, 0};
    unsigned seen = 0;  // slices finished
  };
  double shown(const DeviceRate& own) const;

  std::vector<DeviceRate> devices_;
  bool timed_ = false, measured_before_ = false;  // rates are known; they were from the beginning
  double now_ = 0;
  double fastest_ = 0, best_estimate_ = 0,
         most_above_ = 1;  // of slices; of a device; of a slice, beside its device's estimate
  double shown_sum_ = 0, estimate_sum_ = 0;  // over the devices that have shown something
};

}  // namespace mgpu
