// IdleTracker: which devices have been idle. One that was for 2 ms is slower at first: samples of
// 0.2 ms on four H200 took 0.1 ms longer where two of the four had been idle for the 10 ms before.
// Pure bookkeeping, on the host's clock.
#pragma once

#include <span>
#include <vector>

#include "lib/session/group.hpp"

namespace mgpu {

class IdleTracker {
 public:
  explicit IdleTracker(std::size_t devices) : used_(devices) {}

  // `devices` of the session, by DeviceIndex of the sample, took part as it says.
  void used(const RawSample& sample, std::span<const std::size_t> devices) {
    for (const SliceRecord& slice : sample.slices) used_[devices[slice.device.value]] = sample.end;
  }
  // Their result was copied to the host and hashed after a sample of this length: 36 KiB on each of
  // two H100 made the next one take 0.02 ms longer.
  void looked_at(Nanos makespan, std::span<const std::size_t> devices) {
    if (makespan >= kLongBesideLook) return;
    for (const std::size_t i : devices) used_[i] = {};
  }
  // Would the case's next sample begin with devices that were idle for long? Samples of 50 ms or
  // more are not affected, nor one for which seconds are predicted, and devices to which the case
  // gives no work do not count.
  bool starts_cold(const Case& the_case, Nanos now) const {
    if (!the_case.times.empty() && the_case.times.back() >= kLongSample) return false;
    if (const auto& expected = the_case.prediction.expected;
        expected && expected->makespan >= kSurelyLong)
      return false;
    for (std::size_t i = 0; i < the_case.devices.size(); ++i) {
      const bool needed = the_case.history.empty() || the_case.history.back().items[i] > 0;
      if (needed && now - used_[the_case.devices[i]] > kIdle) return true;
    }
    return false;
  }

 private:
  static constexpr Nanos kIdle = std::chrono::milliseconds(2),
                         kLongSample = std::chrono::milliseconds(50),
                         kSurelyLong = std::chrono::seconds(2),
                         kLongBesideLook = std::chrono::milliseconds(5);
  std::vector<Nanos> used_;  // by device: when a sample that gave it work was last over
};

}  // namespace mgpu
