// Order of the waits between devices that share a sample and exchange panels. Pure functions.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "lib/workload/workload.hpp"
#include "suites/tropical/blocks.hpp"

namespace mgpu::tropical {

// Panels that a device has room for; consecutive rounds use them in turn. There is one more than
// are read and written at a time, so that devices need not be in the same round: the device that
// closes the next block falls behind by that time, and catches up when others do the same.
constexpr std::uint32_t panels_at_once = 3;

// Signals and waits of a device. It signals each other device when it has put a panel there, and,
// when it has finished with a panel, the owner of the panel that comes next in its place. Signals
// between two devices have no names: they match the waits by their order.
class PanelOrder {
 public:
  PanelOrder() = default;
  // `owners` have all items. If `self` is not among them, or is alone, nothing is awaited.
  PanelOrder(const Blocks& blocks, std::span<const Owner> owners, DeviceIndex self);

  std::span<const DeviceIndex> others() const { return others_; }
  bool owns(std::uint32_t block) const { return owner_[block] == self_; }

  struct Signals {
    std::vector<DeviceIndex> give;           // signal these first
    std::vector<DeviceIndex> await_readers;  // then wait until they have finished with a panel
    // Then wait for the next panel from this device. It may also be in await_readers, and then
    // signals twice.
    std::optional<DeviceIndex> await_panel;
  };
  Signals before_first_round() const;  // signals for the panel of round 0
  Signals after_round(std::uint32_t round) const;

 private:
  DeviceIndex self_{};
  std::vector<DeviceIndex> owner_;  // owner of each block
  std::vector<DeviceIndex> others_;
};

}  // namespace mgpu::tropical
