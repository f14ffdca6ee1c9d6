// Records how long devices have been idle. A device is slower after 2 ms without work: samples of
// 0.2 ms on four H200 took 0.1 ms longer when two of the four had been idle for 10 ms. Pure
// bookkeeping, on the host's clock.
#pragma once

#include <span>
#include <vector>

#include "lib/session/group.hpp"

namespace mgpu {

class IdleTracker {
 public:
  explicit IdleTracker(std::size_t devices) : used_(devices) {}

  // Records the devices that worked in the sample. `devices`: of the session, by DeviceIndex.
  void used(const RawSample& sample, std::span<const std::size_t> devices) {
    for (const SliceRecord& slice : sample.slices) used_[devices[slice.device.value]] = sample.end;
  }
  // Records that results were copied to the host and hashed after a sample of this length: 36 KiB
  // on each of two H100 made the next sample 0.02 ms longer.
  void looked_at(Nanos makespan, std::span<const std::size_t> devices) {
    if (makespan >= kLongBesideLook) return;
    for (const std::size_t i : devices) used_[i] = {};
  }
  // Tells whether the case's next sample would begin with devices that were idle for long. False
  // for samples of 50 ms or more and those predicted to take seconds, which are not affected;
  // devices to which the case gives no work do not count.
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
  std::vector<Nanos> used_;  // by device: end of the last sample that gave it work
};

}  // namespace mgpu
