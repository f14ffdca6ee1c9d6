// IdleTracker: which devices have stood still. One that did for 2 ms is slower at first: samples of 0.2 ms on four H200 took 0.1 ms
// longer where two of the four had had nothing to do for the 10 ms before. Pure bookkeeping, on the host's clock.
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
  // Would the cell's next sample begin with devices that have slept? Of one of 50 ms it is no matter, nor of devices it left idle.
  bool sleeps(const Cell& cell, Nanos now) const {
    if (!cell.times.empty() && cell.times.back() >= kLongSample) return false;
    for (std::size_t i = 0; i < cell.devices.size(); ++i) {
      const bool needed = cell.history.empty() || cell.history.back().items[i] > 0;
      if (needed && now - used_[cell.devices[i]] > kAsleep) return true;
    }
    return false;
  }

 private:
  static constexpr Nanos kAsleep = std::chrono::milliseconds(2), kLongSample = std::chrono::milliseconds(50);
  std::vector<Nanos> used_;  // by device: when a sample that gave it work was last over
};

}  // namespace mgpu
