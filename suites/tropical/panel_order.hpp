// Which device waits for which when panels go from one to the others, where several share a sample.
// Pure.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "lib/workload/workload.hpp"
#include "suites/tropical/blocks.hpp"

namespace mgpu::tropical {

// Panels that a device has room for: those of rounds that follow one another take turns. With one
// more than are read and written at a time, devices need not be in the same round: who closes the
// next block falls behind by as long as that takes, and catches up when others do.
constexpr std::uint32_t panels_at_once = 3;

// A device signals each other one when it has put a panel there; and, when it is done with a panel,
// the owner of the one that comes next in its place. Signals of one device to another come in the
// order of the waits for them: which is what tells them apart.
class PanelOrder {
 public:
  PanelOrder() = default;
  // `owners` have all the items. Without `self` among them, or without others, there is nobody to
  // wait for.
  PanelOrder(const Blocks& blocks, std::span<const Owner> owners, DeviceIndex self);

  std::span<const DeviceIndex> others() const { return others_; }
  bool owns(std::uint32_t block) const { return owner_[block] == self_; }

  struct Signals {
    std::vector<DeviceIndex> give;           // first
    std::vector<DeviceIndex> await_readers;  // then: they are done with a panel
    std::optional<DeviceIndex> await_panel;  // then: it put the next one here; it may be among the
                                             // others too, and signals twice
  };
  Signals before_first_round() const;  // the panel of round 0 was put, or is awaited
  Signals after_round(std::uint32_t round) const;

 private:
  DeviceIndex self_{};
  std::vector<DeviceIndex> owner_;  // of each block
  std::vector<DeviceIndex> others_;
};

}  // namespace mgpu::tropical
